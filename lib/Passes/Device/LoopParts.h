/// The parts that all loops of a spread kernel have: points, and the sums of a
/// thread.
#ifndef TPSP_PASSES_DEVICE_LOOPPARTS_H
#define TPSP_PASSES_DEVICE_LOOPPARTS_H

#include "LoopPlan.h"
#include "SpreadElements.h"

namespace tpsp {

/// Memory of a block, known when the kernel is compiled.
mlir::Value sharedBuffer(mlir::OpBuilder &b, mlir::gpu::GPUFuncOp kernel,
                         llvm::ArrayRef<int64_t> extents, mlir::Type element);

/// Emits parts of a loop as planned. It owns nothing.
class LoopParts : public IndexMath {
public:
  /// `initials`: the initial values of the loop's sums.
  LoopParts(mlir::OpBuilder &b, mlir::gpu::GPUFuncOp kernel,
            const BlockShape &shape, const ThreadItem &thread,
            const LoopPlan &plan, llvm::ArrayRef<mlir::Value> initials,
            SpreadElements &elements)
      : IndexMath(b, kernel.getLoc()), kernel(kernel), shape(shape),
        thread(thread), plan(plan), loop(*plan.loop), initials(initials),
        elements(elements) {}

protected:
  Point origin() { return Point(plan.extents.size(), constant(0)); }
  /// Points of the kept dimensions in this block. A block's part of the range
  /// may be shorter than the block's capacity.
  mlir::Value keptPoints();
  /// Sets `point` to point number `number` of `dims`, the innermost fastest.
  void locate(llvm::ArrayRef<unsigned> dims, mlir::Value number, Point &point);

  llvm::SmallVector<mlir::Value> neutralSums();
  /// `x` and `y` combined by the nest's combiner.
  mlir::Value combined(unsigned number, mlir::Value x, mlir::Value y);
  /// Combines the parts of the threads of a point that share a warp.
  void shuffle(llvm::MutableArrayRef<mlir::Value> sums);

  mlir::gpu::GPUFuncOp kernel;
  const BlockShape &shape;
  const ThreadItem &thread;
  const LoopPlan &plan;
  const ItemLoop &loop;
  llvm::ArrayRef<mlir::Value> initials;
  SpreadElements &elements;
};

} // namespace tpsp

#endif // TPSP_PASSES_DEVICE_LOOPPARTS_H
