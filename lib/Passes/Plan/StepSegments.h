/// The segments of a step whose micro-batches are not unrolled.
#ifndef TPSP_PASSES_PLAN_STEPSEGMENTS_H
#define TPSP_PASSES_PLAN_STEPSEGMENTS_H

#include "PlannedCommands.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// A sum over micro-batches, and the zeros in whose memory it is made.
using SumMemory = llvm::DenseMap<mlir::Value, mlir::Value>;

/// Orders the operations of a function with micro-batches by segments
/// (StepSegment), and marks them (tpsp.segment). Makes additions to zeros of
/// tpsp.accumulate, and returns the memory of their sums. Does nothing to other
/// functions. Fails with a diagnostic at an operation of a micro-batch that
/// reads a value which is known only after them. `splitsWeights` is for layers
/// that are divided over stages (StageSegments.h).
mlir::FailureOr<SumMemory> formSegments(mlir::func::FuncOp function,
                                        bool splitsWeights);

/// The number of the last segment of a function with micro-batches and without
/// stages.
int64_t updateSegmentOf(mlir::func::FuncOp function);

/// The segment of an operation; 0 without a mark.
int64_t segmentOf(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_STEPSEGMENTS_H
