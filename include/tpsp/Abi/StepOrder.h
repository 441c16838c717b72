/// A rank's actions in a step: segments for micro-batches, each on its stream.
///
/// A plan's order says which segments a stage issues, and when. The rest
/// follows from the memory that they access. It is the slot of a pool for a
/// micro-batch, and the earlier actions of other streams for which an action
/// waits. Sends and receives have streams of their own. On one stream, actions
/// run in the order of issue.
#ifndef TPSP_ABI_STEPORDER_H
#define TPSP_ABI_STEPORDER_H

#include "tpsp/Abi/Plan.h"

#include <cstdint>
#include <vector>

namespace tpsp {

struct IssuedAction {
  int64_t segment = 0, microBatch = 0;
  /// The stream of its commands, and for transfers no other.
  int64_t stream = 0;
  /// For each pool, the slot of its micro-batch; 0 if it has none.
  std::vector<int64_t> slots;
  /// The positions of the actions that must have ended before it begins, in
  /// ascending order. The others that it depends on are known to have ended.
  std::vector<int64_t> waits;
  /// Whether an action waits for it.
  bool isAwaited = false;
};

/// The actions of a stage's ranks. A step without stages has one stage.
struct StepOrder {
  std::vector<IssuedAction> actions;
  /// For each pool, how many slots the stage needs. The count is the smallest
  /// for this order of issue.
  std::vector<int64_t> slots;

  /// Takes time linear in the plan's accesses, and in the stage's actions with
  /// the accesses of their segments.
  static StepOrder of(const Plan &plan, int64_t stage);
  /// Those of all stages. Reads the plan's accesses once.
  static std::vector<StepOrder> ofStages(const Plan &plan);
};

/// The segments in the order in which `stage` issues them: Plan::order, or each
/// segment as often as it runs.
std::vector<StepAction> issuedSegments(const Plan &plan, int64_t stage);

/// The first of `issued`, a stage's actions, that follows all actions of
/// micro-batches; their number if there are none. An action from there on waits
/// for all before it, so it may write where values of micro-batches were.
int64_t firstLateAction(const Plan &plan,
                        const std::vector<StepAction> &issued);

/// How many of the plan's events are of actions: the most actions that a stage
/// has. They are the last ones.
int64_t numActionEvents(const Plan &plan);

/// The event that action `number` records.
inline int64_t eventOfAction(const Plan &plan, int64_t number) {
  return plan.numEvents - numActionEvents(plan) + number;
}

} // namespace tpsp

#endif // TPSP_ABI_STEPORDER_H
