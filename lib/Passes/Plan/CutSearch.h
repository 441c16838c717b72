/// Searches the fastest schedule of a program, with its collectives whole or
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
  /// The collectives that have been cut, round by round. Each is the number of
  /// its command in the program without cuts.
  std::vector<std::vector<int64_t>> cuts;
  /// The same numbers for the collectives that have not been cut.
  llvm::DenseMap<mlir::Operation *, int64_t> numbers;

  bool isBetterThan(const OverlapCandidate &other) const;
};

/// OverlapCandidate::cuts, and SearchedSchedule::promising of the program with
/// these cuts.
struct TriedCuts {
  std::vector<std::vector<int64_t>> cuts;
  std::vector<ListSetting> settings;
};

class CutSearch {
public:
  /// `chunks`: as chooseCut() in CollectiveCuts.h takes it; 1 cuts nothing.
  CutSearch(const CostModel &cost, const ArenaLimits &limits, int64_t chunks)
      : cost(cost), limits(limits), chunks(chunks) {}

  /// Returns the best of `program`, whose plan is `plan`, and of copies with
  /// cuts. A copy is inserted after the program, which stays unchanged. Errors
  /// are emitted at the program.
  mlir::FailureOr<OverlapCandidate> run(plan::ProgramOp program,
                                        const Plan &plan);
  /// Takes the cuts and settings that run() has tried; those of the program
  /// without cuts come first.
  std::vector<TriedCuts> takeTried() { return std::move(tried); }
  /// Returns the best as run() does, but tries only cuts and settings that are
  /// `known`. They were tried for a shorter program, which repeats the same
  /// commands less often. `twins`: for each command of `program`, its number in
  /// the shorter program, or -1. Only the cuts with the least estimated seconds
  /// are scheduled.
  mlir::FailureOr<OverlapCandidate> runWith(const std::vector<TriedCuts> &known,
                                            plan::ProgramOp program,
                                            const Plan &plan,
                                            const std::vector<int64_t> &twins);

  /// Returns a copy of `program` with the cuts that were found for a program
  /// with the same commands (OverlapCandidate::cuts), or `program` if there are
  /// none. It is not scheduled.
  OverlapCandidate repeat(const std::vector<std::vector<int64_t>> &cuts,
                          plan::ProgramOp program, const Plan &plan);

private:
  /// Which collectives are cut.
  enum class Cuts {
    Exposed, ///< those that the best schedule exposes, if their cut pays alone
    Paying,  ///< all whose cut pays alone
    All      ///< all that can be cut
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
