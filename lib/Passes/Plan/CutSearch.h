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

/// OverlapCandidate::cuts, and SearchedSchedule::promising with them.
struct TriedCuts {
  std::vector<std::vector<int64_t>> cuts;
  std::vector<ListSetting> settings;
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
  /// All that run() has tried, the program without cuts first.
  std::vector<TriedCuts> takeTried() { return std::move(tried); }
  /// Likewise, but only with cuts and settings that were tried for a program
  /// that has the same commands less often. `twins`: for each command of
  /// `program` its number in that one, or -1. Of several cuts those are
  /// scheduled that promise the most.
  mlir::FailureOr<OverlapCandidate> runWith(const std::vector<TriedCuts> &known,
                                            plan::ProgramOp program,
                                            const Plan &plan,
                                            const std::vector<int64_t> &twins);

private:
  /// Which collectives are cut.
  enum class Cuts {
    Exposed, ///< what the best schedule so far leaves exposed, if it pays alone
    Paying,  ///< all that pay alone
    All      ///< all that can be
  };

  mlir::LogicalResult schedule(OverlapCandidate &candidate);
  mlir::LogicalResult finish(OverlapCandidate &candidate,
                             llvm::Expected<SearchedSchedule> found);
  OverlapCandidate cutLike(const OverlapCandidate &whole,
                           const TriedCuts &known,
                           const std::vector<int64_t> &twins);
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
  std::vector<TriedCuts> tried;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_CUTSEARCH_H
