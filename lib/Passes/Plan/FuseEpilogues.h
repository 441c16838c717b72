/// Fuses kernels that read a product element by element, sums of an operand,
/// and additions to sums over micro-batches, into matmuls.
///
/// A kernel is fused only as a whole: a matmul must compute each of its
/// results. A matmul with elementwise steps moves to the kernel's place. A
/// matmul with a sum of an operand stays where it is.
#ifndef TPSP_PASSES_PLAN_FUSEEPILOGUES_H
#define TPSP_PASSES_PLAN_FUSEEPILOGUES_H

#include "PlannedCommands.h"
#include "StepSegments.h"
#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

/// Fuses each kernel for which it is possible and, by `cost`, faster. A remark
/// reports the outcome for each kernel. `cost` is null if the machine has no
/// description of this mesh; then every possible fusion is done.
void fuseEpilogues(std::vector<PlannedCommand> &commands,
                   const CostModel *cost);

/// Fuses each kernel that only adds products to sums over micro-batches. The
/// products then are added where they are computed, and none is written and
/// read again. It is not asked whether that is faster.
void fuseAdditions(std::vector<PlannedCommand> &commands,
                   const SumMemory &sums);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_FUSEEPILOGUES_H
