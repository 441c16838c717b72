/// A stage's actions as a plan file has them: a beginning, one period and an
/// end. So the file does not grow with the micro-batches.
#ifndef TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H
#define TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H

#include "tpsp/Abi/PlanSegment.h"

namespace tpsp::rt {

struct StoredOrder {
  /// The actions without repetitions of the period.
  std::vector<StepAction> actions;
  /// The period's first action and its number of actions; how often it comes
  /// again after the first time; and the micro-batches by which each repetition
  /// is later.
  int64_t begin = 0, length = 0, times = 0, shift = 0;
};

/// Finds the period that leaves the fewest actions. Takes linear time.
StoredOrder storedOrder(const std::vector<StepAction> &order);

/// The most actions that an order may have.
inline constexpr int64_t mostActions = int64_t(1) << 24;

/// Sets `order` to all actions. Returns false, and leaves `order` as it is, if
/// the period lies outside the actions, or if a number is negative or so large
/// that there would be too many actions.
bool expandOrder(const StoredOrder &stored, std::vector<StepAction> &order);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PLANS_STOREDORDER_H
