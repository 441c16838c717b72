/// The rows that a work item keeps between its loops.
#ifndef TPSP_PASSES_KERNELS_KEPTROWS_H
#define TPSP_PASSES_KERNELS_KEPTROWS_H

#include "KernelLoops.h"

namespace tpsp {

/// Arithmetic is in f32, whatever the storage; integers are as they are.
mlir::Type computeType(mlir::Type element);

bool isMaximum(LoopOpInterface op);

/// What a sum or a maximum is kept in while its kernel runs. Along a row f32
/// will do: it is summed in several lanes. A sum across rows may have any
/// number of terms, one after another. In f32 it would round as often, and
/// gradients that cancel would lose their digits.
mlir::Type accumulatorType(const KernelLoops &kernel, LoopOpInterface op);

/// A value that a later loop of the item reads, or a sum that is narrower in
/// memory than in arithmetic.
struct KeptRow {
  LoopOpInterface op;
  llvm::SmallVector<LoopIndex> indices;
  mlir::Type element;
};

llvm::SmallVector<KeptRow> keptRowsOf(const KernelGroup &group,
                                      const KernelLoops &kernel);

/// Bytes of a work item's rows on a GPU, where a block's memory holds them.
struct BlockRows {
  static constexpr int64_t alignment = 16;

  /// Of all rows.
  int64_t all = 0;
  /// Of those that threads do not divide alike. Where all have no room, every
  /// thread keeps its part of the others: of a row of logits each only looks at
  /// what it wrote.
  int64_t shared = 0;
  /// Of an item that is one position of a range, and whose rows have other
  /// indices besides: one thread does it, and keeps these bytes.
  int64_t ofThread = 0;

  bool fit(int64_t bytes) const;
};

BlockRows blockRowsOf(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KEPTROWS_H
