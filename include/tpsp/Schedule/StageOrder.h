/// The order in which each stage issues the segments of a step, and where their
/// memory lies.
#ifndef TPSP_SCHEDULE_STAGEORDER_H
#define TPSP_SCHEDULE_STAGEORDER_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/StageActions.h"

namespace tpsp {

/// The seconds of each segment, whose commands are simulated by themselves.
/// Fails as simulate() does.
llvm::Expected<std::vector<double>> segmentSeconds(const Plan &plan,
                                                   const CostModel &cost);

/// Schedules the segments of a plan with stages: the prologue, forward and
/// backward passes as a list schedule (PipelineProblem.h), the update. `units`
/// replaces the policy's bound on units; 0 keeps it. All stages' orders are
/// parts of one order of all actions, so no transfers wait for each other in a
/// circle. Fails with a sentence if the bound is too small, or as simulate()
/// and StageSchedule::of() do.
llvm::Expected<std::vector<std::vector<StepAction>>>
orderStages(const Plan &plan, const CostModel &cost,
            const StageSchedule &schedule, int64_t units);

/// The memory of a plan with stages.
struct StageArena {
  /// Per buffer, its offset in bytes; nullopt for a temporary that nothing
  /// uses.
  std::vector<std::optional<int64_t>> offsets;
  /// Per buffer, its pool; -1 for none.
  std::vector<int64_t> poolOf;
  std::vector<PlanPool> pools;
  /// Bytes of the largest stage's arena, and of each stage's.
  int64_t bytes = 0;
  std::vector<int64_t> bytesOfStage;
};

/// Places the buffers of a plan with stages and an order:
///
/// - what lasts a step, and what segments before the micro-batches and others
///   access, keeps its bytes all the time;
/// - temporaries of several segments of a micro-batch are in pools, with a slot
///   for every micro-batch of a chunk that is under way. A pool is of one set
///   of segments, or of such sets of alike chunks, if that takes less;
/// - what only segments after the last micro-batch access lies where the pools
///   were, because these segments wait for all earlier ones (firstLateAction).
///   Pieces of several stages may have memory of their own instead;
/// - the other temporaries of a segment share one range with those of all
/// others
///   (ArenaPlan.h), because one segment computes at a time.
///
/// A stage has room for its own buffers alone. A buffer of several stages lies
/// at one offset on all of them.
StageArena planStageArena(const Plan &plan);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STAGEORDER_H
