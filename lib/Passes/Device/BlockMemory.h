/// Assigns memory to the rows that the items of a block keep.
#ifndef TPSP_PASSES_DEVICE_BLOCKMEMORY_H
#define TPSP_PASSES_DEVICE_BLOCKMEMORY_H

#include "LoopAccess.h"
#include "Passes/Kernels/DeviceLimits.h"

namespace tpsp {

/// Rows that threads share lie in the block's shared memory. A single value is
/// held by all threads of its item. If an item has one thread, that thread
/// keeps the item's rows.
class BlockMemory {
public:
  /// Bytes of shared memory that a block has without asking, and that it may
  /// ask for.
  static constexpr int64_t unasked = 48 << 10;
  static constexpr int64_t most = blockMemoryBytes;
  /// Alignment of a row in bytes: that of the widest access.
  static constexpr int64_t alignment = 16;

  /// Places rows in the block's memory. Reduces the items per block in `shape`
  /// until the rows fit. If they never fit, as for a row of logits, threads
  /// keep in their own memory the elements that only they access. If partial
  /// sums need the remaining memory, an item gets fewer threads.
  BlockMemory(BlockShape &shape, const ItemLoops &loops);

  int64_t sharedBytes() const { return rowBytes + partialBytes; }
  /// Whether the memory suffices. Only memory for rows can be asked for.
  bool fits() const { return sharedBytes() <= most && partialBytes <= unasked; }
  /// Bytes that the launch must ask for: the rows, unless all memory is
  /// available without asking.
  int64_t dynamicBytes() const {
    return sharedBytes() > unasked ? rowBytes : 0;
  }

  /// The shape of a kept row, with the largest extent that a range can have.
  llvm::SmallVector<int64_t> extentsOf(mlir::memref::AllocaOp row) const;
  bool isShared(mlir::memref::AllocaOp row) const;
  /// Bytes of a shared row for all items of the block.
  int64_t bytesOf(mlir::memref::AllocaOp row) const;
  /// For a row of which every thread keeps its own elements: how many
  /// neighbours it has at a time. 0 for other rows.
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
