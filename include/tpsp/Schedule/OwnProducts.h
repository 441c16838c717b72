/// The products under which hand-written tensor parallelism communicates.
///
/// If two products read one gradient, a collective that reduces (or gathers
/// for) one product runs next to the other product. (In Megatron-LM: the
/// all-reduce of the gradient of a layer's input runs under the product for the
/// gradient of its weight.)
#ifndef TPSP_SCHEDULE_OWNPRODUCTS_H
#define TPSP_SCHEDULE_OWNPRODUCTS_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Schedule/OverlapProblem.h"

#include "llvm/ADT/SmallVector.h"

namespace tpsp {

/// Positions of commands, ascending.
using OwnProducts = llvm::SmallVector<int64_t, 4>;

/// For each command of the plan, the products that run next to it. Only
/// collectives of the backward pass have any, and each product is next to one
/// collective at most. `problem` is the plan's. Takes O(n) time, apart from the
/// commands between a collective and its product.
std::vector<OwnProducts> findOwnProducts(const Plan &plan,
                                         const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OWNPRODUCTS_H
