/// The order of a step's operations that belong to no micro-batch, if its
/// layers are divided over stages.
#ifndef TPSP_PASSES_PLAN_STAGELEVELS_H
#define TPSP_PASSES_PLAN_STAGELEVELS_H

#include "Passes/Program/StageMarks.h"

namespace tpsp {

/// The levels of operations in the prologue and in the update. Operations of
/// one level and of the same stages form a segment.
class StageLevels {
public:
  StageLevels(mlir::Block &body, const StageMarks &marks)
      : body(body), marks(marks) {
    findLevels();
    raiseLevels();
  }

  /// Whether an operation runs after the micro-batches: it belongs to the
  /// update, or reads a value that only their end makes known.
  bool isAfter(mlir::Operation *op) const { return levels.contains(op); }

  /// The level of an operation of the prologue or the update.
  int64_t of(mlir::Operation *op) const {
    auto early = earlyLevels.find(op);
    return early != earlyLevels.end() ? early->second : levels.lookup(op);
  }

private:
  void findLevels();
  int64_t levelAfter(mlir::Operation *op, bool isOfUpdate) const;
  void raiseLevels();

  mlir::Block &body;
  const StageMarks &marks;
  llvm::DenseMap<mlir::Operation *, int64_t> levels, earlyLevels;
};

/// The chunks under whose last backward pass gradients are combined over ranks.
enum class ReducingChunks {
  /// Each chunk combines its own gradients.
  Each,
  /// The first chunk, which ends last, combines those of all chunks of its
  /// stage. The other stages wait for it, and combine theirs meanwhile. Under
  /// their own backward passes that would delay the gradients which they send.
  First
};

/// The operations that combine gradients over ranks: collectives, and
/// operations of the update that they need. All their gradients are reduced
/// under one chunk
/// (`chunks`), which has a backward pass and comes with them. Buckets of
/// several chunks are none if each chunk has its own. Linear in the operations.
llvm::DenseMap<mlir::Operation *, int64_t>
chunkReductions(mlir::Block &body, const StageMarks &marks,
                const StageLevels &levels, ReducingChunks chunks);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_STAGELEVELS_H
