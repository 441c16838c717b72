/// Which results may be written over the arguments that they replace
/// (tpsp.updates), and which must be copied there at the end.
#ifndef TPSP_PASSES_PLAN_INPLACEUPDATES_H
#define TPSP_PASSES_PLAN_INPLACEUPDATES_H

#include "PlannedCommands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// For each value that is computed in an argument's memory, that argument. The
/// command that computes it is the last that reads the argument. If it reads
/// the argument, it reads only the element that it writes. Linear in the
/// operands of the commands.
llvm::DenseMap<mlir::Value, mlir::BlockArgument>
findInPlaceUpdates(mlir::func::FuncOp function,
                   llvm::ArrayRef<PlannedCommand> commands);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_INPLACEUPDATES_H
