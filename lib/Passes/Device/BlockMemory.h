/// Where the kept rows of a block's items lie.
#ifndef TPSP_PASSES_DEVICE_BLOCKMEMORY_H
#define TPSP_PASSES_DEVICE_BLOCKMEMORY_H

#include "LoopAccess.h"
#include "Passes/Kernels/DeviceLimits.h"

namespace tpsp {

/// Rows that threads share lie in the block's memory. A single value is known
/// to all threads of its item, and a row of one thread's item is its own.
class BlockMemory {
public:
  /// What a block may have without asking, and what it may ask for, in bytes.
  static constexpr int64_t unasked = 48 << 10;
  static constexpr int64_t most = blockMemoryBytes;
  /// Of a row, in bytes: what the widest access needs.
  static constexpr int64_t alignment = 16;

  /// Rows are in the block's memory. Gives `shape` fewer items where that makes
  /// room for them. Where there is none, as for a row of logits, threads keep
  /// what only they look at in memory of their own. Where sums take what is
  /// left, an item has fewer threads to meet for them.
  BlockMemory(BlockShape &shape, const ItemLoops &loops);

  int64_t sharedBytes() const { return rowBytes + partialBytes; }
  /// Only rows can be asked for.
  bool fits() const { return sharedBytes() <= most && partialBytes <= unasked; }
  /// What the launch must ask for: the rows, if not all memory comes unasked.
  int64_t dynamicBytes() const {
    return sharedBytes() > unasked ? rowBytes : 0;
  }

  /// The shape of a kept row, with the most that a range can have.
  llvm::SmallVector<int64_t> extentsOf(mlir::memref::AllocaOp row) const;
  bool isShared(mlir::memref::AllocaOp row) const;
  /// Bytes of a shared row, of all items.
  int64_t bytesOf(mlir::memref::AllocaOp row) const;
  /// Of a row of which every thread keeps its own elements, how many neighbours
  /// it has at a time; else 0.
  int64_t widthInThread(mlir::memref::AllocaOp row) const {
    return own.lookup(row);
  }

private:
  void count();
  void keepOwn();
  int64_t bytesOfPartials() const;
  int64_t possibleWidth(mlir::memref::AllocaOp row) const;

  const BlockShape &shape;
  const ItemLoops &loops;
  llvm::DenseMap<mlir::Operation *, int64_t> own;
  int64_t rowBytes = 0, partialBytes = 0;
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_BLOCKMEMORY_H
