/// The segments of a step whose micro-batches are not unrolled.
#ifndef TPSP_PASSES_PLAN_STEPSEGMENTS_H
#define TPSP_PASSES_PLAN_STEPSEGMENTS_H

#include "PlannedCommands.h"
#include "SumMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tpsp {

/// How a step is divided into segments.
struct SegmentForm {
  /// With stages: whether the part of the backward pass that nobody waits for
  /// is a segment of its own.
  bool splitsWeights = false;
  /// Whether operations of the last micro-batch are copies of the others'.
  /// Reductions of gradients can then run under its backward pass. Without
  /// stages it is one segment together with the update. With stages, the end of
  /// a chunk's backward pass is one segment together with the reductions.
  bool splitsLast = false;
  /// With stages: as in ChunkPlacement.
  bool isFolded = false;
};

/// Orders the operations of a function with micro-batches by segments
/// (StepSegment), and marks them (Origin::segment). Makes additions to zeros of
/// tpsp.accumulate, and returns the memory of their sums. Does nothing to other
/// functions. Fails with a diagnostic at an operation of a micro-batch that
/// reads a value which is known only after them.
///
/// The function may then return more values than its type says. These are only
/// kept, because each micro-batch makes a part of a result in their memory.
mlir::FailureOr<SumMemory> formSegments(mlir::func::FuncOp function,
                                        const SegmentForm &form);

/// The values that the function returns by its type.
mlir::OperandRange returnedValues(mlir::func::FuncOp function);

/// The number of the last segment of a function with micro-batches and without
/// stages.
int64_t updateSegmentOf(mlir::func::FuncOp function);

/// The segment of an operation; 0 without a mark.
int64_t segmentOf(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_STEPSEGMENTS_H
