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
/// If only the innermost index is common, its elements are the work items, and
/// they are processed in ranges. (An example is the gradient of a gain, a sum
/// over all rows.) Such a kernel is one sum, with the elementwise operations
/// that only it reads.
#ifndef TPSP_PASSES_KERNELS_KERNELS_H
#define TPSP_PASSES_KERNELS_KERNELS_H

#include "FusionRule.h"
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
  /// The positions of a longer index that these are, if `axes` do not give them
  /// and operations need positions.
  TileAttr tile;

  bool operator==(const LoopIndex &other) const {
    return name == other.name && extent == other.extent && axes == other.axes &&
           tile == other.tile;
  }
};

/// The indices of a local tensor, in order.
llvm::SmallVector<LoopIndex> loopIndices(mlir::Type type);

/// Whether a loop operation is elementwise: its result has the indices of all
/// its operands.
bool isPointwise(mlir::Operation *op);

struct KernelLimits {
  /// Bytes that a work item may keep of rows that its threads do not divide
  /// alike; 0: any number.
  int64_t keptBytes = 0;
  /// Which operations may share a kernel; null: any.
  std::shared_ptr<const FusionRule> fusion;
};

/// A growing group of loop operations.
class KernelGroup {
public:
  explicit KernelGroup(KernelLimits limits = {}) : limits(std::move(limits)) {}

  bool empty() const { return ops.empty(); }
  /// Whether `op` may join: a common grid exists, and rows stay small enough to
  /// be kept. `isMove`: a full group takes a few more, which another would
  /// leave in memory for it.
  bool accepts(LoopOpInterface op, bool isMove = false) const;
  /// Whether the group's only result is a sum over all rows.
  bool isColumnSum() const;
  void add(LoopOpInterface op);
  bool produces(mlir::Value value) const {
    return llvm::is_contained(ops, value.getDefiningOp());
  }
  llvm::ArrayRef<mlir::Operation *> getOps() const { return ops; }
  /// The values that it reads, and its results that are read outside, each
  /// once.
  llvm::SmallVector<mlir::Value> getInputs() const;
  llvm::SmallVector<mlir::Value> getOutputs() const;
  /// Indices that every result carries, in the order of the first result.
  llvm::ArrayRef<LoopIndex> getCommon() const { return common; }
  /// The indices of the grid: the common indices, except the innermost index of
  /// the widest tensor, which deserves a loop.
  llvm::SmallVector<LoopIndex> getGrid() const {
    return gridOf(common, widest);
  }
  /// The number of work items. For a sum over all rows these are the elements
  /// of a row.
  int64_t countItems() const;

private:
  static llvm::SmallVector<LoopIndex> gridOf(llvm::ArrayRef<LoopIndex> common,
                                             mlir::RankedTensorType widest);
  mlir::RankedTensorType widestWith(LoopOpInterface op) const;
  llvm::SmallVector<LoopIndex> commonWith(LoopOpInterface op) const;
  bool feedsOnly(mlir::Operation *op) const;
  bool sharesGridWith(LoopOpInterface op) const;
  /// Whether a kernel has room for the operands and rows of the group with
  /// `op`.
  bool hasRoomFor(LoopOpInterface op) const;
  bool fewOperandsWith(LoopOpInterface op) const;
  bool fewRowsWith(LoopOpInterface op) const;
  bool isOneLoopWith(LoopOpInterface op, llvm::ArrayRef<LoopIndex> grid) const;
  /// Whether `op` reads values that the group computes or reads.
  bool sharesWith(mlir::Operation *op) const;

  KernelLimits limits;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SmallVector<LoopIndex> common;
  /// Whether the positions that `op` needs agree with those of the group's
  /// operations.
  bool agreesOnTiles(LoopOpInterface op) const;

  /// The index that each name means in this group.
  llvm::DenseMap<mlir::StringAttr, LoopIndex> meaning;
  /// The tiles of the indices whose positions are needed.
  llvm::StringMap<TileAttr> tiles;
  /// The tensor of the highest rank.
  mlir::RankedTensorType widest;
  /// Elements of the largest result.
  int64_t largest = 1;
  /// Bytes of all results, unsharded, in the compute type.
  int64_t resultBytes = 0;
  /// An upper bound of the number of the kernel's operands.
  size_t operands = 0;
};

/// Replaces sums in `function` that have more operands than a kernel may have
/// by trees of sums. Intermediate sums of 16-bit types are f32, as within a
/// kernel.
void splitWideSums(mlir::func::FuncOp function);

/// A kernel function and its call's operands.
struct Kernel {
  mlir::func::FuncOp function;
  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> outputs;
  int64_t grid = 1;
  /// Sharded indices whose global position the kernel needs, in order.
  llvm::SmallVector<LoopIndex> positions;
  /// Outputs that the kernel also reads, each element before it is written.
  /// They follow `outputs`.
  llvm::SmallVector<mlir::Value> updated = {};
};

/// The memory type of a tensor.
mlir::MemRefType memrefOf(mlir::Type tensor);

/// Creates a kernel's function without a body. Its arguments are buffers that
/// do not overlap, `positions` starts, and the range of work items.
mlir::func::FuncOp createKernelFunction(mlir::OpBuilder &b, mlir::Location loc,
                                        llvm::StringRef name,
                                        llvm::ArrayRef<mlir::Type> buffers,
                                        size_t positions);

/// The part of `source` at these offsets, as a memref of `shape`: `sizes`
/// without some of those that are 1.
mlir::Value createSlice(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value source,
                        llvm::ArrayRef<mlir::OpFoldResult> offsets,
                        llvm::ArrayRef<mlir::OpFoldResult> sizes,
                        llvm::ArrayRef<int64_t> shape);

/// Builds the function of a group, named `name`, before `insertBefore`. Its
/// arguments are the inputs and outputs as memrefs, the start of each of
/// `positions`, and the range of work items. `overwritten` returns the input
/// whose memory an output reuses, or null; that input is not an argument.
/// `widensSums`: sums across rows are kept in f64, because a CPU adds the rows
/// one after another.
Kernel emitKernel(const KernelGroup &group, llvm::StringRef name,
                  mlir::Operation *insertBefore, bool widensSums,
                  llvm::function_ref<mlir::Value(mlir::Value)> overwritten);

/// Builds the kernel of an operation that is an algorithm on rows. If the
/// operation has buckets, their tensors follow the inputs.
Kernel emitRowKernel(RowKernelOpInterface op, llvm::StringRef name,
                     mlir::Operation *insertBefore);

/// Builds the kernel of an operation that sorts into buckets. The bucket
/// tensors follow the inputs. `outputs` is empty, because they need not be
/// results.
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
