/// The loops of a kernel as values: the work item, the loops over its rows, and
/// the tensors that these read and store. KernelEmission.cpp emits them.
#ifndef TPSP_PASSES_KERNELS_KERNELLOOPS_H
#define TPSP_PASSES_KERNELS_KERNELLOOPS_H

#include "Kernels.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <vector>

namespace tpsp {

/// Operations with the same row indices that run as one loop nest.
struct KernelLoop {
  /// Loops of a stage read only what earlier stages stored.
  unsigned stage = 0;
  /// Row indices, outermost first.
  llvm::SmallVector<LoopIndex> indices;
  llvm::SmallVector<LoopOpInterface> ops;
  /// The values that it reads from other loops and from memory.
  llvm::SmallVector<mlir::Value> read;
  /// The operations whose result another loop, or an operation outside, reads.
  llvm::SmallVector<LoopOpInterface> stored;
  /// Numbers of indices that it both broadcasts to and sums over, so that no
  /// value that it reads or stores has them.
  llvm::SmallVector<unsigned> hidden;

  /// Whether it runs over exactly these indices, in any order.
  bool isOver(llvm::ArrayRef<LoopIndex> row) const;
};

/// A *row* is the part of a tensor that belongs to a work item. It has the
/// tensor's indices that are not in the grid.
struct KernelLoops {
  /// The values that the group reads from outside, and those that it computes
  /// for others.
  llvm::SmallVector<mlir::Value> inputs, outputs;
  /// The indices along which a work item has a single position, outermost
  /// first.
  llvm::SmallVector<LoopIndex> grid;
  /// For a kernel that processes its items in ranges: the index whose positions
  /// are the items. It is not an index of the grid.
  std::optional<LoopIndex> range;
  /// Whether sums across rows are kept in f64.
  bool widensSums = false;
  /// The loops in the order in which they run.
  std::vector<KernelLoop> loops;
  /// Sharded indices whose global position the loops need, in order.
  llvm::SmallVector<LoopIndex> positions;

  bool inGrid(const LoopIndex &index) const {
    return llvm::is_contained(grid, index);
  }
  bool isOutput(mlir::Value value) const {
    return llvm::is_contained(outputs, value);
  }
  llvm::SmallVector<LoopIndex> rowOf(mlir::Type type) const;
  /// The row indices of an operation, in the order of its widest tensor.
  llvm::SmallVector<LoopIndex> rowOf(LoopOpInterface op) const;
  /// Whether the operation sums over indices of its row.
  bool reduces(LoopOpInterface op) const;
  /// Whether it sums over more than the last indices of a row. Then its terms
  /// are not neighbours in memory, or are those of all rows.
  bool reducesAcrossRows(LoopOpInterface op) const;
};

KernelLoops findLoops(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELLOOPS_H
