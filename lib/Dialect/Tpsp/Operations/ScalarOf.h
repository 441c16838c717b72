/// Helpers for emitting scalars: an operand as a Scalar, and its position.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_SCALAROF_H
#define TPSP_DIALECT_TPSP_OPERATIONS_SCALAROF_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

namespace tpsp {

/// Returns the global position along an index, given its name.
using Position = llvm::function_ref<mlir::Value(llvm::StringRef)>;

inline Scalar scalar(mlir::OpBuilder &b, mlir::Operation *op,
                     mlir::Value value) {
  return Scalar(b, op->getLoc(), value);
}

/// `tile` if it is along `index`, else null.
inline TileAttr tileAlong(std::optional<TileAttr> tile, llvm::StringRef index) {
  return tile && tile->getIndex() == index ? *tile : TileAttr();
}

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_SCALAROF_H
