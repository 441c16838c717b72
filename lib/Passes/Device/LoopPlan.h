/// How the threads of a block run the loops of their items, and where they wait
/// for each other. All loops are planned before any is emitted.
#ifndef TPSP_PASSES_DEVICE_LOOPPLAN_H
#define TPSP_PASSES_DEVICE_LOOPPLAN_H

#include "LoopAccess.h"

#include <vector>

namespace tpsp {

struct LoopPlan {
  enum Form {
    Single, ///< one point, which every thread of an item computes
    Points, ///< points without sums, distributed over threads
    OneSum, ///< a sum of all points, which all threads get to know
    Sums    ///< sums that several threads share, as `layout` says
  };

  const ItemLoop *loop = nullptr;
  Form form = Single;
  /// Extents of the nest's dimensions, with the block's part of a range.
  llvm::SmallVector<int64_t> extents;
  SumLayout layout;

  /// The dimensions whose points are distributed over threads, and how many
  /// neighbours along dimension `along` a thread processes at a time.
  llvm::SmallVector<unsigned> dealt;
  unsigned along = 0;
  int64_t width = 1;

  /// Buffers that make a barrier necessary before the loop.
  llvm::SmallVector<mlir::Value> waitsFor;
  /// Buffers that would need a barrier here, had another barrier not preceded.
  llvm::SmallVector<mlir::Value> waitedFor;

  int64_t pointsOf(llvm::ArrayRef<unsigned> dims) const {
    return tpsp::pointsOf(extents, dims);
  }
  /// Numbers of the outputs that all threads of an item hold without reading
  /// memory.
  llvm::SmallVector<unsigned> known() const;
};

/// One for each loop, in order.
std::vector<LoopPlan> planLoops(const BlockShape &shape,
                                const ItemLoops &loops);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_LOOPPLAN_H
