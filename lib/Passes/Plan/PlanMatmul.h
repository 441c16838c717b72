/// Matmuls of a plan: their work and their creation.
#ifndef TPSP_PASSES_PLAN_PLANMATMUL_H
#define TPSP_PASSES_PLAN_PLANMATMUL_H

#include "PlannedCommands.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"

namespace tpsp {

/// The work of `op`, or of a part of it of the given `form`, with its share of
/// the epilogue.
MatmulWork matmulWork(plan::MatmulOp op);
MatmulWork matmulWork(plan::MatmulOp op, const MatmulForm &form);

/// The work of a grouped product. Rows are assumed to be spread evenly over the
/// matrices.
MatmulWork matmulWork(const rt::GroupedMatmulForm &form, int64_t elementBytes);

/// The work of a matmul that is not created yet.
MatmulWork matmulWork(const PlannedMatmul &matmul);

/// The buffers of a matmul: A, B, C, and those of its epilogue's steps.
struct MatmulBuffers {
  mlir::Value a, b, c;
  llvm::SmallVector<mlir::Value> reads = {}, writes = {};
};

/// Creates a matmul with these buffers, form and epilogue.
plan::MatmulOp createMatmul(mlir::OpBuilder &b, mlir::Location loc,
                            const MatmulBuffers &buffers,
                            const MatmulForm &form,
                            llvm::ArrayRef<rt::EpilogueStep> epilogue);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANMATMUL_H
