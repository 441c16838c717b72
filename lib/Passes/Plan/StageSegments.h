/// The segments of a step whose layers are divided over stages, and what stages
/// send to each other.
///
///   prologue                      what no micro-batch changes
///   forward 0, send, receive, forward 1, ...
///   backward 1, send, receive, backward 0, ...
///   update                        several, where stages meet
///
/// A value that another stage needs is sent by the first stage that has it. In
/// the update, several stages may need each other's values for one operation:
/// then all of them hold all operands, and compute it alike.
#ifndef TPSP_PASSES_PLAN_STAGESEGMENTS_H
#define TPSP_PASSES_PLAN_STAGESEGMENTS_H

#include "StepSegments.h"

#include "tpsp/Abi/ChunkPlacement.h"
#include "tpsp/Abi/Plan.h"

namespace tpsp {

/// Does for a function with chunks what formSegments() does for others, and
/// notes its segments (tpsp.segments). The memory of a value that a stage
/// receives in addition to its own copy is added to `memory`. Fails with a
/// diagnostic at an operation that needs a value of a later segment.
mlir::LogicalResult formStageSegments(mlir::func::FuncOp function,
                                      ChunkPlacement placement,
                                      const SegmentForm &form,
                                      SumMemory &memory);

/// A segment as an attribute, as tpsp.segments has it: a dictionary.
mlir::Attribute noteOf(const PlanSegment &segment, mlir::MLIRContext *context);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_STAGESEGMENTS_H
