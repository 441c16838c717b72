/// The overlap that hand-written tensor parallelism has, to predict steps that
/// others measured. A collective of the backward pass runs with the other
/// product of the same gradient, and nothing else overlaps.
#ifndef TPSP_SCHEDULE_OWNPRODUCTS_H
#define TPSP_SCHEDULE_OWNPRODUCTS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// Commands one after another, in the plan's order, but for pairs. Of the two
/// products that read a gradient, a collective that reduces (or gathers for)
/// one runs beside the other. (In Megatron-LM: the all-reduce of the gradient
/// of a layer's input under the product that makes the gradient of its weight.)
/// `problem` is the plan's; its capacity is not looked at. In O(n) but for the
/// commands between a collective and its product.
OverlapSchedule scheduleOwnProducts(const Plan &plan,
                                    const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OWNPRODUCTS_H
