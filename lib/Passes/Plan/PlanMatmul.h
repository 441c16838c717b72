/// A plan's matmuls: what they do, and how they are made.
#ifndef TPSP_PASSES_PLAN_PLANMATMUL_H
#define TPSP_PASSES_PLAN_PLANMATMUL_H

#include "PlannedCommands.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

namespace tpsp {

/// What `op`, or with `form` a part of it, does; its epilogue in proportion.
MatmulWork matmulWork(plan::MatmulOp op);
MatmulWork matmulWork(plan::MatmulOp op, const MatmulForm &form);

/// What a grouped product does: rows are taken to be spread evenly over the
/// matrices.
MatmulWork matmulWork(const rt::GroupedMatmulForm &form, int64_t elementBytes);

/// Likewise of one that is not there yet.
MatmulWork matmulWork(const PlannedMatmul &matmul);

/// The buffers of a matmul: A, B, C, and those of its epilogue's steps.
struct MatmulBuffers {
  mlir::Value a, b, c;
  llvm::SmallVector<mlir::Value> reads = {}, writes = {};
};

/// A matmul with these buffers, form and epilogue.
plan::MatmulOp createMatmul(mlir::OpBuilder &b, mlir::Location loc,
                            const MatmulBuffers &buffers,
                            const MatmulForm &form,
                            llvm::ArrayRef<rt::EpilogueStep> epilogue);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANMATMUL_H
