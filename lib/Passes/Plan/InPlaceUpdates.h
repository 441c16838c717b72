/// Which results may be written over the arguments whose place they take
/// (tpsp.updates), and which have to be copied there at the end.
#ifndef TPSP_PASSES_PLAN_INPLACEUPDATES_H
#define TPSP_PASSES_PLAN_INPLACEUPDATES_H

#include "PlannedCommands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// By value, the argument in whose memory it is made. The command that makes it
/// is the last that reads the argument. It reads of it, if anything, the very
/// element that it writes. Linear in the operands of the commands.
llvm::DenseMap<mlir::Value, mlir::BlockArgument>
findInPlaceUpdates(mlir::func::FuncOp function,
                   llvm::ArrayRef<PlannedCommand> commands);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_INPLACEUPDATES_H
