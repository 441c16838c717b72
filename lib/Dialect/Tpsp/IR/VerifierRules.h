/// Rules that constraints of several operations are made of. Each fails with a
/// diagnostic at the operation.
#ifndef TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H
#define TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// From `least` to `most` operands.
mlir::LogicalResult verifyCount(mlir::Operation *op, unsigned least,
                                unsigned most);

/// The result has the indices of operand 0, in their order.
mlir::LogicalResult verifySameNames(mlir::Operation *op);

/// Operand `operand` has index `name`, which the attribute `attribute` gives.
mlir::LogicalResult verifyHasIndex(mlir::Operation *op, unsigned operand,
                                   llvm::StringRef name,
                                   llvm::StringRef attribute);

/// What scores are multiplied by is a positive number.
mlir::LogicalResult verifyScale(mlir::Operation *op,
                                const llvm::APFloat &scale);

/// How many keys a query sees, if `window` says it, is at least 1.
mlir::LogicalResult verifyWindow(mlir::Operation *op, mlir::IntegerAttr window);

/// `tensor`, called `what`, does not have index `name`.
mlir::LogicalResult verifyLacksIndex(mlir::Operation *op, mlir::Value tensor,
                                     llvm::StringRef name,
                                     llvm::StringRef what);

/// A tile is of an index of the result, on one rank's shapes, and over axes of
/// the mesh: how many ranks these have.
mlir::FailureOr<int64_t> verifyTilePlace(mlir::Operation *op, TileAttr tile);

/// (I4) An index name means one extent.
mlir::LogicalResult verifyExtents(mlir::Operation *op);

/// The error of an operation that is to be cut into parts along `index`, with
/// whose positions it computes.
mlir::LogicalResult refuseParts(mlir::Operation *op, llvm::StringRef index);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H
