/// The order in which functions call each other.
#ifndef TPSP_PASSES_PROGRAM_CALLORDER_H
#define TPSP_PASSES_PROGRAM_CALLORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tpsp {

/// The functions of `module` that have a body, each after those that it calls;
/// for the rest in the module's order. An error at a call of what has no body,
/// at one that leads back to its own function, and at one that has maxNesting
/// calls within each other.
mlir::FailureOr<llvm::SmallVector<mlir::func::FuncOp>>
functionsInCallOrder(mlir::ModuleOp module, const mlir::SymbolTable &symbols);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_CALLORDER_H
