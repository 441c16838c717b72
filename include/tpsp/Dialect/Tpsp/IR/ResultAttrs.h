/// Attributes of a single result of an operation (proposedAttrName,
/// weightAttrName, nameAttrName). They are stored on the operation if it has
/// one result, else in the result's entry of resultsAttrName.
#ifndef TPSP_DIALECT_TPSP_IR_RESULTATTRS_H
#define TPSP_DIALECT_TPSP_IR_RESULTATTRS_H

#include "mlir/IR/Value.h"

namespace tpsp {

/// Null if the result has no such attribute, or if it is a block's argument.
mlir::Attribute getResultAttr(mlir::Value result, llvm::StringRef name);

/// Sets an attribute of `result`, which must be an operation's. A null `value`
/// removes it.
void setResultAttr(mlir::Value result, llvm::StringRef name,
                   mlir::Attribute value);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_RESULTATTRS_H
