/// A kernel's work item as loops over the points of its loop nests.
#ifndef TPSP_PASSES_DEVICE_ITEMLOOPS_H
#define TPSP_PASSES_DEVICE_ITEMLOOPS_H

#include "DeviceKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <string>
#include <vector>

namespace tpsp {

/// One loop over the points of a loop nest. A nest whose sums go over
/// different indices is looped over once for each kind:
///
///   y[s, d] = f(x[s, d]);  p[s] = sum of f over d;  q[d] = sum of f over s
///
/// is a loop that stores y and sums p, and another that sums q.
struct ItemLoop {
  mlir::linalg::LinalgOp nest;
  /// The nest's dimensions that the sums have, and those that they go over;
  /// where nothing is summed, all are kept. In order.
  llvm::SmallVector<unsigned> kept, summed;
  /// Numbers of the outputs that are stored at every point, and of the sums.
  llvm::SmallVector<unsigned> stored, sums;

  /// Extents of the nest's dimensions; `range` stands for one that is the
  /// range of work items.
  llvm::SmallVector<int64_t> extents(int64_t range) const;
  mlir::Value output(unsigned number) const;
  /// The operation that combines a sum with the next value.
  mlir::Operation *combiner(unsigned number) const;
};

/// An item in order: operations on indices and views, and loops.
struct ItemStep {
  mlir::Operation *operation = nullptr;
  ItemLoop loop; // if there is no operation
};

struct ItemLoops {
  std::vector<ItemStep> steps;
  /// What sums begin from: the value that their memory was filled with just
  /// before. Such a fill is no step of its own.
  llvm::DenseMap<mlir::Value, mlir::Value> initial;
  llvm::SmallVector<mlir::memref::AllocaOp> rows;
};

/// What the items of `source` consist of. False, and `obstacle` says why, if an
/// item is no sequence of loop nests.
bool findItemLoops(KernelSource source, ItemLoops &loops,
                   std::string &obstacle);

/// The buffer that a view is of: an argument of the kernel, or a kept row.
mlir::Value bufferBehind(mlir::Value view);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_ITEMLOOPS_H
