/// A program as plain values.
#ifndef TPSP_PASSES_PLAN_PLANOFPROGRAM_H
#define TPSP_PASSES_PLAN_PLANOFPROGRAM_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Algebra/Mesh.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"

namespace tpsp {

/// Marks on a plan.buffer of one segment's program: PlanBuffer::livesBefore and
/// PlanBuffer::livesAfter.
inline constexpr llvm::StringLiteral livesBeforeAttrName = "plan.lives_before";
inline constexpr llvm::StringLiteral livesAfterAttrName = "plan.lives_after";

/// The plan of `program`; works before and after allocation. The functions of
/// its kernels are looked up in its module. If a kernel has no function there
/// (because it is lowered already), its operations are unknown and counted as
/// 0.
Plan planOf(plan::ProgramOp program);

/// The mesh of `program`.
Mesh meshOf(plan::ProgramOp program);

/// The commands of `program`, by their position in the plan.
llvm::SmallVector<mlir::Operation *> commandsOf(plan::ProgramOp program);

/// The plan of a program, made when a pass first asks for it:
///
///     const Plan &plan = getChildAnalysis<PlanAnalysis>(program).plan;
///
/// A pass that changes no command, buffer or offset preserves it.
struct PlanAnalysis {
  explicit PlanAnalysis(mlir::Operation *program)
      : plan(planOf(mlir::cast<plan::ProgramOp>(program))) {}

  Plan plan;
};

/// The work of a kernel's function over its whole grid.
KernelWork kernelWork(mlir::Operation *function, int64_t grid);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANOFPROGRAM_H
