/// The norm of all gradients together.
#ifndef TPSP_PASSES_LOGICAL_GRADIENTNORM_H
#define TPSP_PASSES_LOGICAL_GRADIENTNORM_H

#include "tpsp/Algebra/Mesh.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tpsp {

/// The root of the sum of squares of `gradients`, each where the type of
/// `placed` at its position says. It is a number in f64, on every rank. Sums
/// are in f64, whose rounding nobody would see. What is pending over the same
/// axes is added before it is reduced: one number for each set of axes. A
/// replicated gradient is in its sum once.
mlir::Value buildNorm(mlir::OpBuilder &b, mlir::Location loc,
                      llvm::ArrayRef<mlir::Value> gradients,
                      llvm::ArrayRef<mlir::RankedTensorType> placed,
                      const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_GRADIENTNORM_H
