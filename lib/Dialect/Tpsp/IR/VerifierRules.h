/// Rules that several operations' constraints consist of. Each rule fails with
/// a diagnostic at the operation.
#ifndef TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H
#define TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

namespace tpsp {

/// The operation has from `least` to `most` operands.
mlir::LogicalResult verifyCount(mlir::Operation *op, unsigned least,
                                unsigned most);

/// The result has the indices of operand 0, in their order.
mlir::LogicalResult verifySameNames(mlir::Operation *op);

/// Operand `operand` has index `name`, which the attribute `attribute` gives.
mlir::LogicalResult verifyHasIndex(mlir::Operation *op, unsigned operand,
                                   llvm::StringRef name,
                                   llvm::StringRef attribute);

/// The factor of the scores is positive.
mlir::LogicalResult verifyScale(mlir::Operation *op,
                                const llvm::APFloat &scale);

/// `window`, if given, is at least 1.
mlir::LogicalResult verifyWindow(mlir::Operation *op, mlir::IntegerAttr window);

/// `tensor`, called `what`, does not have index `name`.
mlir::LogicalResult verifyLacksIndex(mlir::Operation *op, mlir::Value tensor,
                                     llvm::StringRef name,
                                     llvm::StringRef what);

/// A tile is along an index of the result, on one rank's shapes, and over axes
/// of the mesh. Returns the number of ranks along these axes.
mlir::FailureOr<int64_t> verifyTilePlace(mlir::Operation *op, TileAttr tile);

/// (I4) An index name means one extent.
mlir::LogicalResult verifyExtents(mlir::Operation *op);

/// The error of an operation that cannot be cut into parts along `index`,
/// because it computes with positions along it.
mlir::LogicalResult refuseParts(mlir::Operation *op, llvm::StringRef index);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_VERIFIERRULES_H
