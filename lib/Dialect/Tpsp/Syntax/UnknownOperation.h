/// Errors about names that are no operation of tpsp.
#ifndef TPSP_DIALECT_TPSP_SYNTAX_UNKNOWNOPERATION_H
#define TPSP_DIALECT_TPSP_SYNTAX_UNKNOWNOPERATION_H

#include "mlir/IR/MLIRContext.h"

#include <string>

namespace tpsp {

/// The operation that `name` may mean, without the dialect's prefix: one that
/// other libraries call so, or one whose name is alike. Empty if there is none.
std::string operationLike(llvm::StringRef name, mlir::MLIRContext *context);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_SYNTAX_UNKNOWNOPERATION_H
