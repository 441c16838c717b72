/// The segments of a step of which the operations of one micro-batch stand for
/// those of all.
#ifndef TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H
#define TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H

#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"

namespace tpsp {

/// In their order. The prologue has the values that no micro-batch changes.
/// Count makes sums of inputs alone, a part for each micro-batch, and Counted
/// has what these sums make known. The update needs the sums of all
/// micro-batches.
enum class StepSegment { Prologue, Count, Counted, MicroBatch, Update };
inline constexpr int64_t numStepSegments = 5;

/// Whether a step runs the segment once for every micro-batch.
inline bool isRepeated(StepSegment segment) {
  return segment == StepSegment::Count || segment == StepSegment::MicroBatch;
}

class SegmentsOfStep {
public:
  /// Linear in the operations. In a function without micro-batches all of them
  /// are in the prologue.
  explicit SegmentsOfStep(mlir::Block &body);

  StepSegment of(mlir::Operation *op) const {
    return later.lookup_or(op, StepSegment::Prologue);
  }
  /// Whether sums are counted before the micro-batches.
  bool hasCounts() const { return counts; }

private:
  /// The operations that are not in the prologue.
  llvm::DenseMap<mlir::Operation *, StepSegment> later;
  bool counts = false;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_SEGMENTSOFSTEP_H
