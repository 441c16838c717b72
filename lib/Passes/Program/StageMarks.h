/// Where the operations of a step run, if its layers are divided over stages.
///
/// An operation of a micro-batch belongs to one chunk of layers
/// (Origin::chunk), and so to one stage. Before and after the micro-batches, an
/// operation runs on a set of stages (Origin::stages):
///
/// - on the stages that have all of its operands, if there are any;
/// - else on every stage that has one of them: the stages *meet*, as for the
///   norm of all gradients, and for the gradient of a tied parameter;
/// - without operands that a stage has made, where its result is wanted.
#ifndef TPSP_PASSES_PROGRAM_STAGEMARKS_H
#define TPSP_PASSES_PROGRAM_STAGEMARKS_H

#include "SegmentsOfStep.h"

#include "tpsp/Abi/ChunkPlacement.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"

#include <vector>

namespace tpsp {

using StageSet = llvm::SmallBitVector;

/// Whether the function's layers are divided over stages.
bool hasChunks(mlir::FunctionOpInterface function);

/// The stages of a set, ascending.
std::vector<int64_t> listOf(const StageSet &stages);

class StageMarks {
public:
  /// Reads the marks that there are and decides the others. Linear in the
  /// operations.
  StageMarks(mlir::Block &body, ChunkPlacement placement);

  int64_t numStages() const { return stages; }
  /// The largest number of a chunk, plus 1.
  int64_t numChunks() const { return chunks; }

  /// The chunk of an operation of a micro-batch; -1 for others.
  int64_t chunkOf(mlir::Operation *op) const {
    return chunkOfOp.lookup_or(op, -1);
  }
  int64_t stageOf(int64_t chunk) const { return placement.stageOf(chunk); }
  /// The stages that run an operation.
  StageSet stagesOf(mlir::Operation *op) const;
  /// The stages that have a value; all for an argument, which is given to
  /// whoever reads it.
  StageSet stagesOf(mlir::Value value) const;

  /// Writes the marks on the operations.
  void write() const;

private:
  bool isRepeated(mlir::Operation *op) const {
    return segments.of(op) == StepSegment::MicroBatch;
  }
  void findChunks();
  bool takeChunk(mlir::Operation *op);
  void findStages();
  StageSet commonStages(mlir::Operation *op, bool &isDecided) const;
  StageSet wantedStages(mlir::Operation *op) const;

  mlir::Block &body;
  const ChunkPlacement placement;
  const int64_t stages;
  const SegmentsOfStep segments;
  int64_t chunks = 0;
  llvm::DenseMap<mlir::Operation *, int64_t> chunkOfOp;
  llvm::DenseMap<mlir::Operation *, StageSet> stagesOfOp;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_STAGEMARKS_H
