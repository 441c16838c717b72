#include "FunctionWalk.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

using namespace mlir;

LogicalResult tpsp::forEachFunction(
    ModuleOp module,
    llvm::function_ref<LogicalResult(FunctionOpInterface)> visit) {
  for (auto function :
       llvm::make_early_inc_range(module.getOps<FunctionOpInterface>())) {
    if (function.isExternal())
      continue;
    if (!function.getFunctionBody().hasOneBlock())
      return emitErrorAt(function)
             << "has control flow; tpsp programs are straight-line functions";
    if (failed(visit(function)))
      return failure();
  }
  return success();
}
