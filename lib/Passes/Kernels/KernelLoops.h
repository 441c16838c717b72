/// The loops of a kernel, as values: what a work item is, which loops run over
/// its rows, and what these read and store. KernelEmission.cpp writes them.
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
  /// What it reads of other loops and of memory.
  llvm::SmallVector<mlir::Value> read;
  /// Those of `ops` whose result another loop, or somebody else, reads.
  llvm::SmallVector<LoopOpInterface> stored;
  /// Numbers of indices that it broadcasts to and sums over again, so that
  /// nothing that it reads or stores has them.
  llvm::SmallVector<unsigned> hidden;

  /// Whether it runs over just these indices, in any order.
  bool isOver(llvm::ArrayRef<LoopIndex> row) const;
};

/// What of a tensor belongs to a work item is a *row*: the tensor's indices
/// that are not in the grid.
struct KernelLoops {
  /// What the group reads and does not make, and what it makes for others.
  llvm::SmallVector<mlir::Value> inputs, outputs;
  /// Indices of which a work item has one position each, outermost first.
  llvm::SmallVector<LoopIndex> grid;
  /// Of a kernel that does its items in ranges: the index that they are the
  /// positions of. It is no index of the grid.
  std::optional<LoopIndex> range;
  /// Whether sums across rows are kept in f64.
  bool widensSums = false;
  /// In the order in which they run.
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
  /// Whether it sums over more than the last indices of a row: its terms are
  /// not beside each other, or are those of all rows.
  bool reducesAcrossRows(LoopOpInterface op) const;
};

KernelLoops findLoops(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELLOOPS_H
