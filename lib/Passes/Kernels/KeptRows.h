/// The rows that a work item keeps between its loops.
#ifndef TPSP_PASSES_KERNELS_KEPTROWS_H
#define TPSP_PASSES_KERNELS_KEPTROWS_H

#include "KernelLoops.h"

namespace tpsp {

/// The type that kernels compute in: f32 whatever the storage type; integers
/// stay.
mlir::Type computeType(mlir::Type element);

bool isMaximum(LoopOpInterface op);

/// The type in which a kernel accumulates a sum or a maximum. Along a row f32
/// suffices, because several lanes sum it. A sum across rows adds any number of
/// terms one after another. In f32 it would round as often, and gradients that
/// cancel would lose their digits.
mlir::Type accumulatorType(const KernelLoops &kernel, LoopOpInterface op);

/// A value that a later loop of the item reads, or a sum whose storage type is
/// narrower than its arithmetic.
struct KeptRow {
  LoopOpInterface op;
  llvm::SmallVector<LoopIndex> indices;
  mlir::Type element;
};

llvm::SmallVector<KeptRow> keptRowsOf(const KernelGroup &group,
                                      const KernelLoops &kernel);

/// Bytes of a work item's rows on a GPU, if a block's memory holds them.
struct BlockRows {
  static constexpr int64_t alignment = 16;

  /// Bytes of all rows.
  int64_t all = 0;
  /// Bytes of the rows that threads do not divide alike. If all rows do not
  /// fit, every thread keeps its part of the others. (Each thread of a row of
  /// logits reads only the elements that it wrote.)
  int64_t shared = 0;
  /// Bytes that one thread keeps. For an item that is one position of a range
  /// and whose rows have further indices: one thread processes it.
  int64_t ofThread = 0;

  bool fit(int64_t bytes) const;
};

BlockRows blockRowsOf(const KernelGroup &group);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KEPTROWS_H
