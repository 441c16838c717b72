/// The fastest schedule of a program, of those with its collectives whole and
/// with some of them cut.
#ifndef TPSP_PASSES_PLAN_CUTSEARCH_H
#define TPSP_PASSES_PLAN_CUTSEARCH_H

#include "CollectiveCuts.h"
#include "tpsp/Schedule/ScheduleSearch.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>

namespace tpsp {

/// A program with the best schedule that was found for it.
struct OverlapCandidate {
  plan::ProgramOp program;
  std::shared_ptr<const Plan> plan;
  SearchedSchedule found;
  /// The collectives that have been cut, round by round: the numbers that their
  /// commands had in the program without cuts.
  std::vector<std::vector<int64_t>> cuts;
  /// The same numbers of the collectives that are there.
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;

  bool isBetterThan(const OverlapCandidate &other) const;
};

/// Cuts that were found for one program, for another one that has the same
/// commands several times.
struct KnownCuts {
  /// OverlapCandidate::cuts of the one program.
  const std::vector<std::vector<int64_t>> &cuts;
  /// For each command of the other program its number in the first.
  const std::vector<int64_t> &twins;
  /// SearchedSchedule::promising of the one program.
  const std::vector<ListSetting> &settings;
};

class CutSearch {
public:
  /// `chunks`: of CollectiveCuts.h; 1 cuts nothing.
  CutSearch(const CostModel &cost, const ArenaLimits &limits, int64_t chunks)
      : cost(cost), limits(limits), chunks(chunks) {}

  /// The best of `program`, which has this plan, and of copies with cuts, which
  /// stand behind it. The program stays as it is. Errors are emitted at it.
  mlir::FailureOr<OverlapCandidate> run(plan::ProgramOp program,
                                        const Plan &plan);
  /// Only with these cuts and settings.
  mlir::FailureOr<OverlapCandidate> withKnown(plan::ProgramOp program,
                                              const Plan &plan,
                                              const KnownCuts &known);

private:
  /// Which collectives are cut.
  enum class Cuts {
    Exposed, ///< what the best schedule so far leaves exposed, if it pays alone
    Paying,  ///< all that pay alone
    All      ///< all that can be
  };

  mlir::LogicalResult schedule(OverlapCandidate &candidate,
                               const std::vector<ListSetting> &settings);
  mlir::LogicalResult improveByCuts(OverlapCandidate &best);
  mlir::FailureOr<bool> tryCuts(OverlapCandidate &base, Cuts cuts,
                                bool keepAnyway, OverlapCandidate &best);
  bool shouldCut(Cuts cuts, const CollectiveCut &cut, double exposed) const;
  void cutIn(OverlapCandidate &copy, const OverlapCandidate &base, Cuts cuts);
  void cut(OverlapCandidate &candidate, mlir::Operation *collective,
           const CollectiveCut &chosen);
  void drop(OverlapCandidate &candidate);

  const CostModel &cost;
  const ArenaLimits limits;
  const int64_t chunks;
  plan::ProgramOp original;
  /// The number of the next collective that is cut.
  int64_t wholes = 0;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_CUTSEARCH_H
