/// The overlap of hand-written tensor parallelism, to predict steps that others
/// measured. A collective of the backward pass runs under the other product of
/// the same gradient, and nothing else overlaps.
#ifndef TPSP_SCHEDULE_OWNPRODUCTS_H
#define TPSP_SCHEDULE_OWNPRODUCTS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// Commands run one after another, in the plan's order, except for pairs. If
/// two products read one gradient, a collective that reduces (or gathers for)
/// one product runs next to the other product. (In Megatron-LM: the all-reduce
/// of the gradient of a layer's input runs under the product for the gradient
/// of its weight.) `problem` is the plan's; its capacity is ignored. Takes O(n)
/// time, apart from the commands between a collective and its product.
OverlapSchedule scheduleOwnProducts(const Plan &plan,
                                    const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OWNPRODUCTS_H
