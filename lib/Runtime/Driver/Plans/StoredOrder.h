/// A stage's actions as a plan file has them: stretches, each with a period. So
/// the file does not grow with the micro-batches.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H
#define TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H

#include "tpsp/Abi/PlanSegment.h"

namespace tpsp::rt {

/// Actions of which some come again, each time for later micro-batches.
struct StoredActions {
  /// The actions without repetitions of the period.
  std::vector<StepAction> actions;
  /// The period's first action, and its number of actions.
  int64_t begin = 0, length = 0;
  /// How often the period comes again after the first time.
  int64_t times = 0;
  /// By how many micro-batches each repetition is later.
  int64_t shift = 0;
};

using StoredOrder = std::vector<StoredActions>;

/// Finds periods that leave few actions. The time is linear in the actions.
StoredOrder storedOrder(const std::vector<StepAction> &order);

/// The most actions that an order may have.
inline constexpr int64_t mostActions = int64_t(1) << 24;

/// Sets `order` to all actions. Returns false if a period lies outside its
/// actions, or if a number is negative. Also returns false if there would be
/// too many actions.
bool expandOrder(const StoredOrder &stored, std::vector<StepAction> &order);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H
