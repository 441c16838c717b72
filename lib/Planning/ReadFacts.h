/// What the planner knows of a program, read off a module.
#ifndef TPSP_PLANNING_READFACTS_H
#define TPSP_PLANNING_READFACTS_H

#include "tpsp/Planner/ProgramFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// Has a tensor for each of handedTensors(), in their order. The module stays
/// as it is. `forGpu`: whose library is asked for attention in one call.
/// Extents are those of `pad`, "v=8", but for the work.
llvm::Expected<planner::ProgramFacts>
programFacts(mlir::ModuleOp module, mlir::func::FuncOp program, bool forGpu,
             llvm::ArrayRef<std::string> pad);

} // namespace tpsp

#endif // TPSP_PLANNING_READFACTS_H
