/// Operations of tpsp as operations of StableHLO, on global shapes.
#ifndef TPSP_LIB_PASSES_STABLEHLO_FORMS_H
#define TPSP_LIB_PASSES_STABLEHLO_FORMS_H

#include "HloBuilder.h"

namespace tpsp::hlo {

/// The first result of `op`, its dimensions in any order. `operands` are those
/// of `op`, under its own names for their dimensions. Fails with a diagnostic.
using Form = mlir::FailureOr<NamedTensor> (*)(
    HloBuilder &h, mlir::Operation *op, llvm::ArrayRef<NamedTensor> operands);

/// The form of an operation that is no loop over points, or has a better one
/// than such a loop; null if it has none.
Form findForm(mlir::Operation *op);

/// The sum of the products of `x` and `y`, of one element type, over the names
/// that `result` lacks: a dot_general. Summed in what `wide` says, and of those
/// elements.
NamedTensor product(HloBuilder &h, NamedTensor x, NamedTensor y, Names result);

/// An operation that is a loop over points: its own scalar, applied to whole
/// tensors, and reduced over what its result lacks. Fails with a diagnostic
/// where the scalar is of what StableHLO lacks.
mlir::FailureOr<NamedTensor> emitLoop(HloBuilder &h, LoopOpInterface op,
                                      llvm::ArrayRef<NamedTensor> operands);

/// Results of any operation, with its own types but for their subscripts. Fails
/// with a diagnostic where it has no form.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
emitOperation(HloBuilder &h, mlir::Operation *op, mlir::ValueRange operands);

// Of IntegerForms.cpp.
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
