/// Helpers of module passes that work function by function. A module pass can
/// be named on a command line without nesting it under func.func.
#ifndef TPSP_PASSES_PROGRAM_FUNCTIONWALK_H
#define TPSP_PASSES_PROGRAM_FUNCTIONWALK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// Calls `visit` on every function with a body; stops at the first failure.
/// A function of several blocks is refused: programs are straight-line.
mlir::LogicalResult forEachFunction(
    mlir::ModuleOp module,
    llvm::function_ref<mlir::LogicalResult(mlir::FunctionOpInterface)> visit);

/// The same for a `visit` that cannot fail.
template <
    typename Visit,
    std::enable_if_t<
        std::is_void_v<std::invoke_result_t<Visit, mlir::FunctionOpInterface>>,
        int> = 0>
mlir::LogicalResult forEachFunction(mlir::ModuleOp module, Visit &&visit) {
  return forEachFunction(module, [&](mlir::FunctionOpInterface function) {
    visit(function);
    return mlir::success();
  });
}

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_FUNCTIONWALK_H
