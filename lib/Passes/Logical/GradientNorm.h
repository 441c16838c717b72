/// The norm of all gradients together.
#ifndef TPSP_PASSES_LOGICAL_GRADIENTNORM_H
#define TPSP_PASSES_LOGICAL_GRADIENTNORM_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tpsp {

/// The root of the sum of squares of `gradients`, each placed as the type of
/// `placed` at its position says. It is a number in f64, the same on every
/// rank. Sums are f64, so that their rounding is negligible. Squares that are
/// pending over the same axes are added before they are reduced: one number for
/// each set of axes. A replicated gradient is counted once.
mlir::Value buildNorm(mlir::OpBuilder &b, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> gradients,
                      llvm::ArrayRef<mlir::RankedTensorType> placed,
                      const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_GRADIENTNORM_H
