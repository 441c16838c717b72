/// A kernel's work item as loops over the points of its loop nests.
#ifndef TPSP_PASSES_DEVICE_ITEMLOOPS_H
#define TPSP_PASSES_DEVICE_ITEMLOOPS_H

#include "DeviceKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <string>
#include <vector>

namespace tpsp {

/// One loop over the points of a loop nest. A nest whose sums are over
/// different sets of indices needs one loop for each set:
///
///   y[s, d] = f(x[s, d]);  p[s] = sum of f over d;  q[d] = sum of f over s
///
/// becomes a loop that stores y and sums p, and another that sums q.
struct ItemLoop {
  mlir::linalg::LinalgOp nest;
  /// The nest's dimensions that the sums keep, and those that are summed over,
  /// in order. Without sums, all are kept.
  llvm::SmallVector<unsigned> kept, summed;
  /// Numbers of the outputs that are stored at every point, and of the sums.
  llvm::SmallVector<unsigned> stored, sums;

  /// Extents of the nest's dimensions. `range` is the extent of a dimension
  /// that is the range of work items.
  llvm::SmallVector<int64_t> extents(int64_t range) const;
  mlir::Value output(unsigned number) const;
  /// The operation that combines a sum with the next value.
  mlir::Operation *combiner(unsigned number) const;
};

/// One step of an item, in order: an operation on indices and views, or a loop.
struct ItemStep {
  mlir::Operation *operation = nullptr;
  ItemLoop loop; // if there is no operation
};

struct ItemLoops {
  std::vector<ItemStep> steps;
  /// The initial values of sums: the value that their memory was filled with
  /// just before. Such a fill is not a step of its own.
  llvm::DenseMap<mlir::Value, mlir::Value> initial;
  llvm::SmallVector<mlir::memref::AllocaOp> rows;
};

/// Finds the steps of the items of `source`. Returns false and sets `obstacle`
/// if an item is not a sequence of loop nests.
bool findItemLoops(KernelSource source, ItemLoops &loops,
                   std::string &obstacle);

/// The buffer of a view: an argument of the kernel, or a kept row.
mlir::Value bufferBehind(mlir::Value view);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_ITEMLOOPS_H
