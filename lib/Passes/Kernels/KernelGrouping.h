/// Groups loop operations into kernels, while a function is walked from its
/// first operation to its last.
///
/// Several groups are open at a time. An operation joins the first group that
/// accepts it and does not precede a group that computes its operands. When an
/// operation that is not a loop needs a group, the groups become kernels, in
/// their order:
///
///   x -> norm's gradient -> gradient of x        one kernel, by rows
///    \-> sum over rows   -> gradient of gain     another, in the midst of it
///
/// Three rewrites save passes over memory. The last two do not increase its
/// peak:
///
/// - Elementwise operations that only a later group reads move into it. (An
///   example is the begin of a parameter's update, if its rest needs a number
///   that another kernel computes, or found no room in the first.)
/// - A later consumer is taken ahead if it is the only user of a value, its
///   other operands are available, and it produces no more bytes than it frees.
/// - An operand of a sum over rows is rematerialised in the sum's kernel, if it
///   was computed elementwise from a tensor that is in memory anyway.
#ifndef TPSP_PASSES_KERNELS_KERNELGROUPING_H
#define TPSP_PASSES_KERNELS_KERNELGROUPING_H

#include "Kernels.h"

#include "llvm/ADT/DenseSet.h"

namespace tpsp {

class KernelGrouping {
public:
  /// `isLoop` tells which operations of the function will be added. `limits`
  /// are those of each kernel.
  KernelGrouping(std::function<bool(mlir::Operation *)> isLoop,
                 KernelLimits limits)
      : isLoop(std::move(isLoop)), limits(std::move(limits)) {}

  /// Whether `op` was taken ahead and is not to be added.
  bool isTaken(mlir::Operation *op) const { return taken.contains(op); }
  /// Records that the results of `op`, which is not a loop, are available from
  /// now on.
  void pass(mlir::Operation *op) { passed.insert(op); }
  /// Adds `op` to a group of operations of its phase, forward or backward.
  /// Returns false if no group accepts it; take() then makes room. Which values
  /// are saved for the backward pass is decided elsewhere.
  bool add(LoopOpInterface op);
  bool produces(mlir::Value value) const {
    return groupOf(value.getDefiningOp()) >= 0;
  }
  /// Closes all groups and returns them.
  llvm::SmallVector<KernelGroup> take();

private:
  /// The number of the operation's group; -1 if it is in none.
  int64_t groupOf(mlir::Operation *op) const;
  bool addTo(size_t group, LoopOpInterface op);
  void remakeOperands(LoopOpInterface op);
  void remakeOperand(LoopOpInterface op, mlir::OpOperand &operand);
  bool isCheapToRemake(mlir::Operation *producer) const;
  void moveToReaders(size_t from);
  void moveTo(size_t from, size_t to);
  llvm::SmallVector<mlir::Operation *> readOnlyBy(size_t from, size_t to) const;
  bool savesMemory(size_t from, size_t to,
                   llvm::ArrayRef<mlir::Operation *> moved) const;
  void takeConsumers(size_t group);
  void takeConsumersOf(size_t group, mlir::Operation *producer);
  bool gather(mlir::Operation *op, mlir::Operation *producer, size_t group,
              llvm::SmallVectorImpl<mlir::Operation *> &wanted) const;
  bool isThere(mlir::Value value, size_t group) const;

  std::function<bool(mlir::Operation *)> isLoop;
  KernelLimits limits;
  llvm::SmallVector<KernelGroup> open;
  /// The group of each operation in an open group.
  llvm::DenseMap<mlir::Operation *, size_t> groups;
  llvm::DenseSet<mlir::Operation *> passed, taken;
};

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELGROUPING_H
