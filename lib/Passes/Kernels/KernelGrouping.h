/// Which loop operations become one kernel, as a function is walked from its
/// first operation to its last.
///
/// Several groups are open at a time. An operation joins the first that takes
/// it and does not come before one that makes its operands. Groups become
/// kernels in their order, when an operation that is no loop needs one of them:
///
///   x -> norm's gradient -> gradient of x        one kernel, by rows
///    \-> sum over rows   -> gradient of gain     another, in the midst of it
///
/// Two rewrites save passes over memory, and neither keeps more in memory than
/// there was at any time:
///
/// - A consumer further down is taken ahead if it alone reads a value, needs
///   nothing that is not there yet, and makes no more bytes than it frees.
/// - What a sum over rows reads, if it was made element by element of something
///   that is in memory anyway, is rematerialised in the sum's kernel.
#ifndef TPSP_PASSES_KERNELS_KERNELGROUPING_H
#define TPSP_PASSES_KERNELS_KERNELGROUPING_H

#include "Kernels.h"

#include "llvm/ADT/DenseSet.h"

namespace tpsp {

class KernelGrouping {
public:
  /// `isLoop` says which operations of the function will be added. `keptBytes`
  /// is KernelGroup's.
  KernelGrouping(std::function<bool(mlir::Operation *)> isLoop,
                 int64_t keptBytes)
      : isLoop(std::move(isLoop)), keptBytes(keptBytes) {}

  /// Whether `op` was taken ahead and is not to be added.
  bool isTaken(mlir::Operation *op) const { return taken.contains(op); }
  /// Notes that what `op`, which is no loop, makes is there from now on.
  void pass(mlir::Operation *op) { passed.insert(op); }
  /// Whether there is a group for it, of operations of its phase, forward or
  /// backward. What the forward pass hands on is decided elsewhere. If not,
  /// take() makes room.
  bool add(LoopOpInterface op);
  bool produces(mlir::Value value) const {
    return groupOf(value.getDefiningOp()) >= 0;
  }
  /// Closes all groups.
  llvm::SmallVector<KernelGroup> take();

private:
  /// -1: it is in none.
  int64_t groupOf(mlir::Operation *op) const;
  bool addTo(size_t group, LoopOpInterface op);
  void remakeOperands(LoopOpInterface op);
  void remakeOperand(LoopOpInterface op, mlir::OpOperand &operand);
  bool isCheapToRemake(mlir::Operation *producer) const;
  void takeConsumers(size_t group);
  void takeConsumersOf(size_t group, mlir::Operation *producer);
  bool gather(mlir::Operation *op, mlir::Operation *producer, size_t group,
              llvm::SmallVectorImpl<mlir::Operation *> &wanted) const;
  bool isThere(mlir::Value value, size_t group) const;

  std::function<bool(mlir::Operation *)> isLoop;
  int64_t keptBytes;
  llvm::SmallVector<KernelGroup> open;
  /// The group of each operation in an open group.
  llvm::DenseMap<mlir::Operation *, size_t> groups;
  llvm::DenseSet<mlir::Operation *> passed, taken;
};

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELGROUPING_H
