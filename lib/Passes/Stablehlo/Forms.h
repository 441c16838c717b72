/// Converts operations of tpsp to operations of StableHLO, on global shapes.
#ifndef TPSP_LIB_PASSES_STABLEHLO_FORMS_H
#define TPSP_LIB_PASSES_STABLEHLO_FORMS_H

#include "HloBuilder.h"

namespace tpsp::hlo {

/// Builds the first result of `op`, with its dimensions in any order.
/// `operands` are those of `op`, named by its own index names. Fails with a
/// diagnostic.
using Form = mlir::FailureOr<NamedTensor> (*)(
    HloBuilder &h, mlir::Operation *op, llvm::ArrayRef<NamedTensor> operands);

/// The form of an operation that is not a loop over points, or has a better
/// form than such a loop. Null if there is none.
Form findForm(mlir::Operation *op);

/// The sum of the products of `x` and `y`, of one element type, over the names
/// that `result` lacks: a dot_general. It is summed in, and returned as, the
/// type that `wide` gives.
NamedTensor product(HloBuilder &h, NamedTensor x, NamedTensor y, Names result);

/// Emits an operation that is a loop over points: its own scalar, applied to
/// whole tensors and reduced over the names that its result lacks. Fails with a
/// diagnostic if StableHLO lacks an operation of the scalar.
mlir::FailureOr<NamedTensor> emitLoop(HloBuilder &h, LoopOpInterface op,
                                      llvm::ArrayRef<NamedTensor> operands);

/// Emits any operation. The results have its own types without subscripts.
/// Fails with a diagnostic if the operation has no form.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
emitOperation(HloBuilder &h, mlir::Operation *op, mlir::ValueRange operands);

// Defined in IntegerForms.cpp.
mlir::FailureOr<NamedTensor> lookUp(HloBuilder &h, mlir::Operation *op,
                                    llvm::ArrayRef<NamedTensor> operands);
mlir::FailureOr<NamedTensor> choose(HloBuilder &h, mlir::Operation *op,
                                    llvm::ArrayRef<NamedTensor> operands);
mlir::FailureOr<NamedTensor> countValues(HloBuilder &h, mlir::Operation *op,
                                         llvm::ArrayRef<NamedTensor> operands);
mlir::FailureOr<NamedTensor> runs(HloBuilder &h, mlir::Operation *op,
                                  llvm::ArrayRef<NamedTensor> operands);
mlir::FailureOr<NamedTensor> countEarlier(HloBuilder &h, mlir::Operation *op,
                                          llvm::ArrayRef<NamedTensor> operands);

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_FORMS_H
