/// A step of micro-batches as the operations of one, which stand for all.
#ifndef TPSP_PASSES_LOGICAL_MICROBATCHLOOP_H
#define TPSP_PASSES_LOGICAL_MICROBATCHLOOP_H

#include "MicroBatchSums.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp::microbatch {

/// Whether loop() can rewrite the function. It cannot if a parameter is cut, or
/// if a micro-batch needs a part of a value that is computed whole. It also
/// cannot if a count makes another count. A cut result must not have the memory
/// of another result or of an argument.
bool canLoop(mlir::func::FuncOp function, const Division &division,
             const Shares &shares);

/// Rewrites the function so that operations of a micro-batch run once for
/// every micro-batch. Their cut values have one part's type, as have cut
/// arguments and results (`tpsp.cut`). A result that is a sum over
/// micro-batches is made by tpsp.accumulate. `form`: how gradients of
/// parameters are added up. Fails with a diagnostic if an operation relates its
/// positions to those of other parts.
mlir::LogicalResult loop(mlir::func::FuncOp function, const Division &division,
                         const Shares &shares, const SumForm &form);

} // namespace tpsp::microbatch

#endif // TPSP_PASSES_LOGICAL_MICROBATCHLOOP_H
