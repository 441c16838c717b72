/// Items of algorithms on rows, done by several threads.
///
/// A looked-up row is stored element by element in a loop along its innermost
/// index. A thread that does every 32nd element of all such loops never meets
/// what another one stores:
///
///   for token: for d: y[d] += table[id[token], d]
///
/// All threads go through what is around these loops.
#ifndef TPSP_PASSES_DEVICE_ROWLANES_H
#define TPSP_PASSES_DEVICE_ROWLANES_H

#include "DeviceKernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tpsp {

struct RowLanes {
  /// Threads of an item; 1: its elements depend on each other.
  int64_t count = 1;
  /// The loops along the innermost index, from 0 in steps of 1.
  llvm::SmallVector<mlir::scf::ForOp> loops;
};

RowLanes findRowLanes(KernelSource source);

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_ROWLANES_H
