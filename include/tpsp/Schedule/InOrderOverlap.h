/// The overlap of frameworks, to predict steps that others measured. They run
/// what is written, in its order, and hide little communication.
#ifndef TPSP_SCHEDULE_INORDEROVERLAP_H
#define TPSP_SCHEDULE_INORDEROVERLAP_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// Communication that runs under computation.
enum class InOrderOverlap {
  /// Collectives of the backward pass under their own products (OwnProducts.h).
  OwnProducts,
  /// Also collectives of parameters and of their gradients, under whatever runs
  /// then. A gather of parameters begins when the first command that reads the
  /// gather before it begins: FSDP fetches one layer ahead. A reduction begins
  /// as soon as its gradients are there. Gathers of the update are not hidden.
  Parameters
};

/// Commands of stream 0 run one after another in the plan's order, and so do
/// all collectives that are not hidden. `problem` is the plan's; its capacity
/// is ignored. Takes O(n) time, apart from findOwnProducts().
OverlapSchedule scheduleInOrder(const Plan &plan, const OverlapProblem &problem,
                                InOrderOverlap overlap);

} // namespace tpsp

#endif // TPSP_SCHEDULE_INORDEROVERLAP_H
