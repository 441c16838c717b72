/// The order in which functions call each other.
#ifndef TPSP_PASSES_PROGRAM_CALLORDER_H
#define TPSP_PASSES_PROGRAM_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tpsp {

/// The functions of `module` that have a body, each after those that it calls,
/// otherwise in the module's order. An error at a call of a function without a
/// body, at a recursive call, and at a call that is nested maxNesting deep.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
functionsInCallOrder(mlir::ModuleOp module, const mlir::SymbolTable &symbols);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_CALLORDER_H
