/// Distributes the items of algorithms on rows over several threads.
///
/// A looked-up row is stored element by element in a loop along its innermost
/// index. If a thread keeps to its own elements in all such loops, it never
/// reads what another thread stores:
///
///   for token: for d: y[d] += table[id[token], d]
///
/// All threads run the code around these loops.
///
/// Rows that are only copied are distributed along another index, too:
///
///   for s: for d: y[s, d] = x[s - 1, d]
///
/// No element that is written is read, so positions of s are independent.
///
/// If an item is one sum of many terms, the threads of a warp add up parts of
/// it:
///
///   for token: for d: p[token] += table[id[token], d] * y[token, d]
///
/// If an item stores nothing but runs of neighbours, the threads of a block
/// divide every run. The bounds of runs may be known only on the GPU:
///
///   for expert: for c < load[expert]: of[end + c] = expert; end +=
///   load[expert]
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
  /// The load of the complete sum, and the store of the result.
  mlir::memref::LoadOp taken;
  mlir::memref::StoreOp stored;

  explicit operator bool() const { return bool(loop); }
};

struct RowLanes {
  /// Threads of an item, at most a warp if they exchange values; 1 if its
  /// elements depend on each other.
  int64_t count = 1;
  /// Neighbours along the innermost index that a thread processes at once.
  /// Thread (e / width) mod count has element e.
  int64_t width = 1;
  /// The loops along the innermost index. None is nested in another.
  llvm::SmallVector<mlir::scf::ForOp> loops;
  /// Blocks that share an item, and the loops whose points are distributed:
  /// block p mod parts has point p.
  int64_t parts = 1;
  llvm::SmallVector<mlir::scf::ForOp> dealt;

  /// Either this sum is set, or there are loops, or runs.
  LaneSum sum;
  /// The loops that store runs: thread t has every element number t mod count.
  llvm::SmallVector<mlir::scf::ForOp> fills;

  /// Whether a thread has elements of its own, which it keeps in registers.
  bool areOwn() const { return !loops.empty() && atOnce() > 1; }
  /// Elements along the innermost index that all threads process at once.
  int64_t atOnce() const { return count * width; }
  /// The number of elements that a thread keeps for a row of `extent` elements.
  int64_t ownOf(int64_t extent) const {
    return int64_t(llvm::divideCeil(extent, atOnce())) * width;
  }
};

/// The bounds of a loop that counts in steps of 1 between constants.
struct LoopBounds {
  int64_t first = 0, last = 0;
};
std::optional<LoopBounds> boundsOf(mlir::scf::ForOp loop);

RowLanes findRowLanes(KernelSource source);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_ROWLANES_H
