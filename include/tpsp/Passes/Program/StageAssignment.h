/// The chunk of layers that each operation of a program belongs to.
///
/// A layer is a call in the program's function (layersOf). Layers decide. All
/// else belongs to the first chunk that uses its result. So the values that
/// chunks hand to each other are those that layers hand to each other.
#ifndef TPSP_PASSES_PROGRAM_STAGEASSIGNMENT_H
#define TPSP_PASSES_PROGRAM_STAGEASSIGNMENT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tpsp {

/// The layers of a program: the calls in its function, in their order.
llvm::SmallVector<mlir::Operation *> layersOf(mlir::func::FuncOp program);

struct StageCut {
  /// Chunks of each stage, at least 1.
  int64_t chunksPerStage = 1;
  /// The number of layers of each chunk, at least 1. If empty, layers are
  /// divided evenly, and the first chunks have one more each.
  llvm::SmallVector<int64_t> layers;
};

/// Reads numbers of layers, one for each chunk. Fails with a sentence about one
/// that is no number from 1.
llvm::Expected<llvm::SmallVector<int64_t>>
readStageLayers(llvm::ArrayRef<std::string> texts);

class StageAssignment {
public:
  /// The module's mesh should have an axis of role `stage`.
  StageAssignment(mlir::func::FuncOp program, const StageCut &cut)
      : program(program), cut(cut), layers(layersOf(program)) {}

  /// Fails with a located error if there is no such axis, or if the layers do
  /// not divide as wanted.
  mlir::LogicalResult assign();

  mlir::Block &body() { return program.getBody().front(); }
  /// The number of chunks.
  int64_t size() const { return numChunks; }
  llvm::ArrayRef<int64_t> layerCounts() const { return counts; }
  int64_t chunkOf(mlir::Operation *op) const { return chunks.lookup(op); }
  /// The first chunk returns an argument that is a result as it is.
  int64_t chunkOf(mlir::Value value) const {
    mlir::Operation *op = value.getDefiningOp();
    return op ? chunkOf(op) : 0;
  }

private:
  mlir::LogicalResult countLayers();
  int64_t firstUser(mlir::Operation *op) const;

  mlir::func::FuncOp program;
  const StageCut cut;
  int64_t numChunks = 0;
  llvm::SmallVector<mlir::Operation *> layers;
  llvm::SmallVector<int64_t> counts;
  llvm::DenseMap<mlir::Operation *, int64_t> chunks;
};

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_STAGEASSIGNMENT_H
