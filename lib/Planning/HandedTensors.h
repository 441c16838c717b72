/// Values of a module that must have one type because functions pass them to
/// each other. A call's operand becomes the callee's argument, and the callee's
/// returned value becomes the call's result.
#ifndef TPSP_PLANNING_HANDEDTENSORS_H
#define TPSP_PLANNING_HANDEDTENSORS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tpsp {

struct HandedTensor {
  /// The first of `values` in the module; an argument of the program, if there
  /// is one.
  mlir::Value first;
  llvm::SmallVector<mlir::Value, 2> values;
};

/// Finds them in the order of the module, but with the arguments of `program`
/// first. The order is the same for a clone.
llvm::SmallVector<HandedTensor> handedTensors(mlir::ModuleOp module,
                                              mlir::func::FuncOp program);

/// The queries, keys, values and results of the module's attentions that are
/// results of operations and are not handed from function to function, each
/// once. The order is the same for a clone.
llvm::SmallVector<mlir::Value> attentionTensors(mlir::ModuleOp module);

} // namespace tpsp

#endif // TPSP_PLANNING_HANDEDTENSORS_H
