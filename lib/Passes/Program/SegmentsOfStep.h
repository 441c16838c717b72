/// The segments of a step of which the operations of one micro-batch stand for
/// those of all.
#ifndef TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H
#define TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"

namespace tpsp {

/// In their order. The prologue has the values that no micro-batch changes, and
/// the update those that need the sums of all.
enum class StepSegment { Prologue, MicroBatch, Update };

class SegmentsOfStep {
public:
  /// Linear in the operations. In a function without micro-batches all of them
  /// are in the prologue.
  explicit SegmentsOfStep(mlir::Block &body);

  StepSegment of(mlir::Operation *op) const {
    return later.lookup_or(op, StepSegment::Prologue);
  }

private:
  /// The operations that are not in the prologue.
  llvm::DenseMap<mlir::Operation *, StepSegment> later;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H
