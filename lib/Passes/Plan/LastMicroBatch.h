/// Operations for the last of several micro-batches alone.
#ifndef TPSP_PASSES_PLAN_LASTMICROBATCH_H
#define TPSP_PASSES_PLAN_LASTMICROBATCH_H

#include "StepSegments.h"

namespace tpsp {

/// Copies operations of a micro-batch for the last one, before the terminator,
/// and returns the copies. `ops` then stand for the other micro-batches. The
/// copies add to their sums. Whoever reads a value after the last micro-batch
/// reads the copy's.
///
/// `isForEach`: whether an operation runs for every micro-batch. It still reads
/// the values of `ops`. The copies make these values in the same memory, which
/// is added to `memory`.
llvm::SmallVector<mlir::Operation *>
copyForLast(llvm::ArrayRef<mlir::Operation *> ops, SumMemory &memory,
            llvm::function_ref<bool(mlir::Operation *)> isForEach = nullptr);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_LASTMICROBATCH_H
