/// Returns values in the middle of a program, for comparisons.
#ifndef TPSP_PASSES_PROGRAM_RETURNINNER_H
#define TPSP_PASSES_PROGRAM_RETURNINNER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// Adds the values of these names to the results of `function`, which has no
/// calls. The summands of such values, and of the function's own results, are
/// added, too: a summand may count several times. Names that it lacks are
/// ignored.
void returnInner(mlir::func::FuncOp function,
                 llvm::ArrayRef<std::string> names);

/// The numbers of the inner results whose gradients `differentiated` returns,
/// in the order of these gradients.
llvm::SmallVector<size_t> innerGradientsOf(mlir::func::FuncOp differentiated);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_RETURNINNER_H
