/// Reads the planner's facts from a module.
#ifndef TPSP_PLANNING_READFACTS_H
#define TPSP_PLANNING_READFACTS_H

#include "tpsp/Planner/ProgramFacts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

namespace tpsp {

/// The facts have a tensor for each of handedTensors(), in their order. The
/// module is not changed. `forGpu`: check attention in one call against cuDNN's
/// limits, not the CPU backend's. Extents are padded as `pad` ("v=8") says,
/// except in the work.
llvm::Expected<planner::ProgramFacts>
programFacts(mlir::ModuleOp module, mlir::func::FuncOp program, bool forGpu,
             llvm::ArrayRef<std::string> pad);

} // namespace tpsp

#endif // TPSP_PLANNING_READFACTS_H
