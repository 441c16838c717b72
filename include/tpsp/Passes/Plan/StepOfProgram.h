/// A program as plain values.
#ifndef TPSP_PASSES_PLAN_STEPOFPROGRAM_H
#define TPSP_PASSES_PLAN_STEPOFPROGRAM_H

#include "tpsp/Schedule/Step.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"

namespace tpsp {

/// The commands of `program`, in order; works before and after allocation. The
/// functions of its kernels are looked up in its module: of a kernel that is no
/// function there (lowered already), the operations are not known and are 0.
Step stepOf(plan::ProgramOp program);

/// What a kernel's function does over its whole grid.
KernelWork kernelWork(mlir::Operation *function, int64_t grid);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_STEPOFPROGRAM_H
