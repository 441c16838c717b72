/// The last micro-batch as segments of its own, where the step can do more than
/// in the others: reduce the gradients that it completes.
#ifndef TPSP_PASSES_PLAN_LASTMICROBATCH_H
#define TPSP_PASSES_PLAN_LASTMICROBATCH_H

#include "StepSegments.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tpsp {

/// Copies operations of a micro-batch for the last one. `ops` are in program
/// order. The copies are added before the terminator, and returned in the same
/// order:
///
/// - The copy of a sum adds to the sum of the other micro-batches, in its
///   memory (`memory`).
/// - Operations after the micro-batches read the copies' values.
/// - Operations for which `isOfEach` is true run for every micro-batch. They
///   read the same memory as before, and the copies write it.
///
/// The function may then return more values, which are only kept, as
/// formSegments() says.
llvm::SmallVector<mlir::Operation *>
copyForLastMicroBatch(llvm::ArrayRef<mlir::Operation *> ops, SumMemory &memory,
                      llvm::function_ref<bool(mlir::Operation *)> isOfEach);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_LASTMICROBATCH_H
