/// Kernels: groups of loop operations that run as one function.
///
/// A kernel works on a grid of independent work items. The grid is spanned by
/// indices that every result of the group carries. So a work item reads and
/// writes only its own slice of every tensor. The remaining indices are the
/// item's *row*. Within a work item the operations form loops over rows.
/// Operations with the same row indices and no reduction between them share a
/// loop. A value that stays in its loop is never stored. A norm is then one
/// kernel of a few loops over a row in cache, and a chain of pointwise
/// operations one pass over memory.
///
/// If only the innermost index is common, the work items are its elements and
/// are done in ranges. (The gradient of a gain is such a case: a sum over all
/// rows.) Such a kernel is one sum, with what is computed element by element
/// for it alone.
#ifndef TPSP_PASSES_KERNELS_KERNELS_H
#define TPSP_PASSES_KERNELS_KERNELS_H

#include "tpsp/Passes/Kernels/KernelInterfaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace tpsp {

/// An index of a loop nest, on local shapes.
struct LoopIndex {
  mlir::StringAttr name;
  int64_t extent = 1;
  /// Mesh axes that shard it, major to minor.
  mlir::ArrayAttr axes;
  /// Which positions of a longer index these are, if `axes` do not say it and
  /// positions are asked for.
  TileAttr tile;

  bool operator==(const LoopIndex &other) const {
    return name == other.name && extent == other.extent && axes == other.axes &&
           tile == other.tile;
  }
};

/// The indices of a local tensor, in order.
llvm::SmallVector<LoopIndex> loopIndices(mlir::Type type);

/// Whether a loop operation computes element by element: its result has the
/// indices of all its operands.
bool isPointwise(mlir::Operation *op);

/// A growing group of loop operations.
class KernelGroup {
public:
  /// `keptBytes`: what a work item may keep of rows that its threads do not
  /// divide alike; 0: any number.
  explicit KernelGroup(int64_t keptBytes = 0) : keptBytes(keptBytes) {}

  bool empty() const { return ops.empty(); }
  /// Whether `op` may join: there is a grid that serves all, and rows stay
  /// small enough to be kept.
  bool accepts(LoopOpInterface op) const;
  /// Whether its one result is a sum over all rows.
  bool isColumnSum() const;
  void add(LoopOpInterface op);
  bool produces(mlir::Value value) const {
    return llvm::is_contained(ops, value.getDefiningOp());
  }
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// What it reads, and what it makes that others read, each once.
  llvm::SmallVector<mlir::Value> getInputs() const;
  llvm::SmallVector<mlir::Value> getOutputs() const;
  /// Indices that every result carries, in the order of the first result.
  llvm::ArrayRef<LoopIndex> getCommon() const { return common; }
  /// The indices of the grid: the common ones, without the index that the
  /// widest tensor has innermost. That is worth a loop of its own.
  llvm::SmallVector<LoopIndex> getGrid() const {
    return gridOf(common, widest);
  }
  /// Work items, which of a sum over all rows are the elements of a row.
  int64_t countItems() const;

private:
  static llvm::SmallVector<LoopIndex> gridOf(llvm::ArrayRef<LoopIndex> common,
                                             mlir::RankedTensorType widest);
  mlir::RankedTensorType widestWith(LoopOpInterface op) const;
  llvm::SmallVector<LoopIndex> commonWith(LoopOpInterface op) const;
  bool feedsOnly(mlir::Operation *op) const;
  bool sharesGridWith(LoopOpInterface op) const;
  /// Whether a kernel has room for the operands and rows with `op`.
  bool hasRoomFor(LoopOpInterface op) const;
  bool fewOperandsWith(LoopOpInterface op) const;
  bool fewRowsWith(LoopOpInterface op) const;
  /// Whether `op` reads what the group makes or reads.
  bool sharesWith(mlir::Operation *op) const;

  int64_t keptBytes;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<LoopIndex> common;
  /// Whether the positions that `op` asks for are those that others asked for.
  bool agreesOnTiles(LoopOpInterface op) const;

  /// What each index name means in this group.
  llvm::DenseMap<mlir::StringAttr, LoopIndex> meaning;
  /// Where the positions lie of those indices that were asked for.
  llvm::StringMap<TileAttr> tiles;
  /// The tensor of the highest rank.
  mlir::RankedTensorType widest;
  /// Elements of the largest result.
  int64_t largest = 1;
  /// Of all results, whole and as arithmetic has them.
  int64_t resultBytes = 0;
  /// At least as many as the kernel's.
  size_t operands = 0;
};

/// Makes trees of sums with more operands than a kernel may have, in
/// `function`. Sums of 16 bits are between them in f32, as within a kernel.
void splitWideSums(mlir::func::FuncOp function);

/// A kernel function and how to call it.
struct Kernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> outputs;
  int64_t grid = 1;
  /// Sharded indices whose global position the kernel needs, in order.
  llvm::SmallVector<LoopIndex> positions;
  /// Outputs that it also reads, each element before it writes it. They follow
  /// `outputs`.
  llvm::SmallVector<mlir::Value> updated = {};
};

/// The memory of a tensor.
mlir::MemRefType memrefOf(mlir::Type tensor);

/// A kernel's function without a body. Its arguments are buffers that do not
/// overlap, the starts of so many positions, and the range of work items.
mlir::func::FuncOp createKernelFunction(mlir::OpBuilder &b, mlir::Location loc,
                                        llvm::StringRef name,
                                        llvm::ArrayRef<mlir::Type> buffers,
                                        size_t positions);

/// The part of `source` at these offsets, seen as of `shape`: `sizes` but for
/// some that are 1.
mlir::Value createSlice(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value source,
                        llvm::ArrayRef<mlir::OpFoldResult> offsets,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes,
                        llvm::ArrayRef<int64_t> shape);

/// Builds the function of a group, named `name`, before `insertBefore`. Its
/// arguments are the inputs and outputs as memrefs, the start of each of
/// `positions`, and the range of work items. `overwritten` says of an output in
/// the memory of which input it is made, or null; that input is no argument.
/// `widensSums`: sums across rows are kept in f64, as a CPU adds them up one
/// after another.
Kernel emitKernel(const KernelGroup &group, llvm::StringRef name,
                  mlir::Operation *insertBefore, bool widensSums,
                  llvm::function_ref<mlir::Value(mlir::Value)> overwritten);

/// Likewise of one operation that is an algorithm on rows. What its buckets
/// hold, if it has any, follows the inputs.
Kernel emitRowKernel(RowKernelOpInterface op, llvm::StringRef name,
                     mlir::Operation *insertBefore);

/// Likewise of one that sorts into buckets. The tensors that it makes follow
/// the inputs; `outputs` is empty, because they need not be results.
Kernel emitBucketKernel(BucketKernelOpInterface op, llvm::StringRef name,
                        mlir::Operation *insertBefore);

/// The kernel of an operation that copies blocks. It sees a tensor as
/// [outer, block, row, element], whatever its rank.
struct BlockCopyKernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::MemRefType> inputs;
  mlir::MemRefType output;
  /// Every row of every outer position is a work item.
  int64_t grid = 1;
};

BlockCopyKernel emitBlockCopy(BlockCopyOpInterface op, llvm::StringRef name,
                              mlir::Operation *insertBefore);

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_KERNELS_H
