/// Reductions of gradients that a stage runs under its last backward pass.
#ifndef TPSP_PASSES_PLAN_CHUNKREDUCTIONS_H
#define TPSP_PASSES_PLAN_CHUNKREDUCTIONS_H

#include "Passes/Program/StageMarks.h"

#include "llvm/ADT/DenseSet.h"

namespace tpsp {

/// Operations after the micro-batches that need sums of one chunk alone, as far
/// as a reduction of a parameter's gradient needs them:
///
///   %sum = tpsp.accumulate %g                   of chunk 1
///   %f   = tpsp.convert %sum                    found: chunk 1
///   %all = tpsp.all_reduce %f {gradients = ..}  found: chunk 1
///   %new = tpsp.sub %w, %all                    not found
///
/// The gradient of a parameter that two chunks have is not found.
class ChunkReductions {
public:
  /// None.
  ChunkReductions() = default;
  /// Linear in the operations.
  ChunkReductions(mlir::Block &body, const StageMarks &marks);

  /// The chunk whose last backward segment runs the operation; -1 if none does.
  int64_t chunkOf(mlir::Operation *op) const {
    return chunkOfOp.lookup_or(op, -1);
  }
  /// Whether there are reductions of a chunk.
  bool has(int64_t chunk) const { return chunks.contains(chunk); }

private:
  llvm::DenseMap<mlir::Operation *, int64_t> chunkOfOp;
  llvm::DenseSet<int64_t> chunks;
};

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_CHUNKREDUCTIONS_H
