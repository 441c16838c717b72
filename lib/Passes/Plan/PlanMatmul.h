/// A plan's matmuls as plain values, and back.
#ifndef TPSP_PASSES_PLAN_PLANMATMUL_H
#define TPSP_PASSES_PLAN_PLANMATMUL_H

#include "tpsp/Algebra/MatmulForm.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Schedule/Step.h"

namespace tpsp {

MatmulForm formOf(plan::MatmulOp op);

/// What `op`, or with `form` a part of it, does; its epilogue in proportion.
MatmulWork matmulWork(plan::MatmulOp op);
MatmulWork matmulWork(plan::MatmulOp op, const MatmulForm &form);

/// What an epilogue of these steps does in a product with elements of so many
/// bytes.
EpilogueWork epilogueWork(const MatmulWork &product,
                          llvm::ArrayRef<rt::EpilogueStep> steps,
                          int64_t elementBytes);

/// The buffers of a matmul: A, B, C, and those of its epilogue's steps.
struct MatmulBuffers {
  mlir::Value a, b, c;
  llvm::SmallVector<mlir::Value> reads = {}, writes = {};
};

/// A matmul where `like` came from, with these buffers, form and epilogue.
plan::MatmulOp createMatmul(mlir::OpBuilder &b, plan::MatmulOp like,
                            const MatmulBuffers &buffers,
                            const MatmulForm &form,
                            llvm::ArrayRef<rt::EpilogueStep> epilogue);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANMATMUL_H
