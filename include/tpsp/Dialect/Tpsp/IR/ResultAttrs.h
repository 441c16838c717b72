/// What passes note on one result of an operation (proposedAttrName,
/// weightAttrName, nameAttrName). It is on the operation itself if that has one
/// result, else in the result's entry of resultsAttrName.
#ifndef TPSP_DIALECT_TPSP_IR_RESULTATTRS_H
#define TPSP_DIALECT_TPSP_IR_RESULTATTRS_H

#include "mlir/IR/Value.h"

namespace tpsp {

/// Null if the result has none, and for a block's argument.
mlir::Attribute getResultAttr(mlir::Value result, llvm::StringRef name);

/// `result` is an operation's. A null `value` removes the attribute.
void setResultAttr(mlir::Value result, llvm::StringRef name,
                   mlir::Attribute value);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_RESULTATTRS_H
