/// Which results may be written over the arguments that they replace
/// (tpsp.updates), and which must be copied there at the end.
#ifndef TPSP_PASSES_PLAN_INPLACEUPDATES_H
#define TPSP_PASSES_PLAN_INPLACEUPDATES_H

#include "StepSegments.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// For each value that is computed in another's memory, that value: an argument
/// that it replaces, or the memory of a sum over micro-batches. The command
/// that computes it is the last that reads the argument. If it reads the
/// argument, it reads only the element that it writes. Linear in the operands
/// of the commands.
llvm::DenseMap<mlir::Value, mlir::Value>
findInPlaceUpdates(mlir::func::FuncOp function,
                   llvm::ArrayRef<PlannedCommand> commands,
                   const SumMemory &sums);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_INPLACEUPDATES_H
