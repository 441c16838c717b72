/// How the threads of a block are laid over work items and over a loop.
#ifndef TPSP_PASSES_DEVICE_BLOCKSHAPE_H
#define TPSP_PASSES_DEVICE_BLOCKSHAPE_H

#include "ItemLoops.h"

namespace tpsp {

/// A block's shape. Every number is a power of two, and a block has whole
/// warps.
///
/// In a kernel that has no items but a range, a block has one "item" that all
/// its threads work on. It has `range` elements of it.
struct BlockShape {
  int64_t threadsPerItem = 1;
  int64_t items = 1;
  /// Elements of the range that a block does; 0: the kernel has items.
  int64_t range = 0;
  /// Neighbouring points that a thread does at once, for wide accesses.
  int64_t width = 1;

  int64_t threads() const { return threadsPerItem * items; }
};

BlockShape chooseBlockShape(KernelSource source, const ItemLoops &loops);

/// How the threads of an item share a loop with sums: `points` of the kept
/// points at a time, each summed by `threads` threads.
///
/// Thread t has point t / threads if `threadsInnermost`, else t % points.
/// Threads side by side are then side by side in memory, whichever of the two
/// the innermost dimension is.
struct SumLayout {
  int64_t points = 1;
  int64_t threads = 1;
  bool threadsInnermost = true;
  /// Threads of a point that are in one warp and combine by shuffles.
  int64_t shuffled = 1;

  /// Partial sums of a point that are combined through the block's memory.
  int64_t partials() const { return threads / shuffled; }
};

SumLayout chooseSumLayout(const BlockShape &shape, const ItemLoop &loop);

/// Points of `dims` of a loop.
int64_t pointsOf(llvm::ArrayRef<int64_t> extents,
                 llvm::ArrayRef<unsigned> dims);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_BLOCKSHAPE_H
