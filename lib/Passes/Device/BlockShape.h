/// How the threads of a block are distributed over work items and over a loop.
#ifndef TPSP_PASSES_DEVICE_BLOCKSHAPE_H
#define TPSP_PASSES_DEVICE_BLOCKSHAPE_H

#include "ItemLoops.h"

namespace tpsp {

/// A block's shape. Every number is a power of two, and a block consists of
/// whole warps.
///
/// In a kernel with a range instead of items, a block has one "item", on which
/// all its threads work. It covers `range` elements.
struct BlockShape {
  int64_t threadsPerItem = 1;
  int64_t items = 1;
  /// Elements of the range that a block covers; 0 if the kernel has items.
  int64_t range = 0;
  /// Neighbouring points that a thread processes at once, for wide accesses. In
  /// a kernel with a range: neighbours of which a thread has a sum each.
  int64_t width = 1;

  int64_t threads() const { return threadsPerItem * items; }
};

BlockShape chooseBlockShape(KernelSource source, const ItemLoops &loops);

/// How the threads of an item share a loop with sums: `points` of the kept
/// points at a time, each summed by `threads` threads. If `across` is more than
/// 1, a point here is that many neighbouring points of a range.
///
/// Thread t has point t / threads if `threadsInnermost`, else t % points. The
/// choice follows the innermost dimension, so that neighbouring threads access
/// neighbouring memory.
struct SumLayout {
  int64_t across = 1;
  int64_t points = 1;
  int64_t threads = 1;
  bool threadsInnermost = true;
  /// Threads of a point that share a warp and combine by shuffles.
  int64_t shuffled = 1;

  /// Partial sums of a point that are combined through the block's memory.
  int64_t partials() const { return threads / shuffled; }
};

SumLayout chooseSumLayout(const BlockShape &shape, const ItemLoop &loop);

/// The number of points along `dims` of a loop.
int64_t pointsOf(llvm::ArrayRef<int64_t> extents,
                 llvm::ArrayRef<unsigned> dims);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_BLOCKSHAPE_H
