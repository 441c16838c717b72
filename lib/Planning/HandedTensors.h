/// Values of a module that have one type because functions hand them to each
/// other. A call's operand is the callee's argument, and what the callee
/// returns is the call's result.
#ifndef TPSP_PLANNING_HANDEDTENSORS_H
#define TPSP_PLANNING_HANDEDTENSORS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {

struct HandedTensor {
  /// The first that the module has: an argument of the program, if one is.
  mlir::Value first;
  llvm::SmallVector<mlir::Value, 2> values;
};

/// In the order of the module, but the arguments of `program` before all
/// others. The order is the same for a clone.
llvm::SmallVector<HandedTensor> handedTensors(mlir::ModuleOp module,
                                              mlir::func::FuncOp program);

} // namespace tpsp

#endif // TPSP_PLANNING_HANDEDTENSORS_H
