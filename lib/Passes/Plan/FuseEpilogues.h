/// Kernels that read a product element by element, and sums of an operand,
/// into matmuls.
///
/// A kernel goes only whole: every result of it must be some matmul's. A matmul
/// then stands where the kernel stood; with a sum of an operand it stays where
/// it is.
#ifndef TPSP_PASSES_PLAN_FUSEEPILOGUES_H
#define TPSP_PASSES_PLAN_FUSEEPILOGUES_H

#include "PlannedCommands.h"
#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

/// Does it wherever it is possible and, by `cost`, faster; a remark says of
/// each kernel what became of it. `cost` is null where the machine says nothing
/// of this mesh: then all that is possible is done.
void fuseEpilogues(std::vector<PlannedCommand> &commands,
                   const CostModel *cost);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_FUSEEPILOGUES_H
