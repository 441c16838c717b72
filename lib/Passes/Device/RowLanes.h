/// Items of algorithms on rows, done by several threads.
///
/// A looked-up row is stored element by element in a loop along its innermost
/// index. A thread that does its own elements of all such loops never meets
/// what another one stores:
///
///   for token: for d: y[d] += table[id[token], d]
///
/// All threads go through what is around these loops.
///
/// Rows that are only copied are divided along another index, too:
///
///   for s: for d: y[s, d] = x[s - 1, d]
///
/// Nothing that is written is read, so every position of s is on its own.
///
/// Where an item is one sum of many terms, a warp adds up parts of it:
///
///   for token: for d: p[token] += table[id[token], d] * y[token, d]
#ifndef TPSP_PASSES_DEVICE_ROWLANES_H
#define TPSP_PASSES_DEVICE_ROWLANES_H

#include "DeviceKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

namespace tpsp {

/// A sum in a kept row of one element, whose innermost terms are a loop's.
struct LaneSum {
  mlir::scf::ForOp loop;
  /// Where the sum is taken, with all terms in it, and stored.
  mlir::memref::LoadOp taken;
  mlir::memref::StoreOp stored;

  explicit operator bool() const { return bool(loop); }
};

struct RowLanes {
  /// Threads of an item; 1: its elements depend on each other.
  int64_t count = 1;
  /// Neighbours along the innermost index that a thread does at once. Thread
  /// (e / width) mod count has element e.
  int64_t width = 1;
  /// The loops along the innermost index. None is in another.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// Blocks that share an item, and the loops whose points they share: block
  /// p mod parts has point p.
  int64_t parts = 1;
  llvm::SmallVector<mlir::scf::ForOp> dealt;

  /// There is a sum or there are loops.
  LaneSum sum;

  /// Whether a thread has elements of its own, and these in registers.
  bool areOwn() const { return !loops.empty() && atOnce() > 1; }
  /// Elements along the innermost index that all threads do at once.
  int64_t atOnce() const { return count * width; }
  /// How many of `extent` elements a thread has room for.
  int64_t ownOf(int64_t extent) const {
    return int64_t(llvm::divideCeil(extent, atOnce())) * width;
  }
};

/// The points of a loop that counts in steps of 1 between constants.
struct LoopBounds {
  int64_t first = 0, last = 0;
};
std::optional<LoopBounds> boundsOf(mlir::scf::ForOp loop);

RowLanes findRowLanes(KernelSource source);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_ROWLANES_H
