/// What every value of a program is in one micro-batch.
#ifndef TPSP_PASSES_LOGICAL_MICROBATCHSHARES_H
#define TPSP_PASSES_LOGICAL_MICROBATCHSHARES_H

#include "Passes/Program/Placed.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp::microbatch {

/// What a value is in one part.
struct Share {
  enum Kind { Same, Cut, Summand };
  Kind kind = Same;
  /// The dimension that is cut.
  unsigned dim = 0;

  bool operator==(const Share &other) const {
    return kind == other.kind && (kind != Cut || dim == other.dim);
  }
};

/// How the cut index is divided: the index is (blocks, parts, rows), and part i
/// is the rows i of every block. With as many blocks as the index has shards, a
/// part of the tensor is a part of every rank's shard.
struct Division {
  llvm::StringRef index;
  int64_t blocks = 1;
  int64_t parts = 1;
  /// The mesh axes of the index, on every argument that carries it.
  mlir::ArrayAttr axes;
};

/// Finds the share of every value, or why there is none.
class Shares {
public:
  Shares(mlir::FunctionOpInterface function, const Division &division)
      : function(function), division(division) {}

  /// Fails with a diagnostic at the operation that cannot be cut.
  mlir::LogicalResult find();

  Share of(mlir::Value value) const {
    return isCounted(value) ? Share() : shares.lookup(value);
  }

  /// Sums that inputs alone make, and that an operation needs complete: a count
  /// of labels that a loss is divided by. They are the same in every part,
  /// because they are made before the first. In the function's order.
  const llvm::SmallVector<mlir::Value> &counts() const { return counted; }
  bool isCounted(mlir::Value value) const { return isCount.contains(value); }

  /// A count that another count makes; null if there is none.
  mlir::Value nestedCount() const { return nested; }

  /// The operations that make a count and differ from part to part, in order.
  llvm::SmallVector<mlir::Operation *> makersOf(mlir::Value count) const;

  /// The index of `op` that is cut; empty if its operands are whole.
  llvm::StringRef cutIndex(mlir::Operation *op) const;

  /// The dimension of operand `i` that its operation cuts, if any.
  std::optional<unsigned> cutDim(mlir::Operation *op, unsigned i) const;

private:
  /// Finds the shares once. Sets `restarts` if a count was found on the way.
  mlir::LogicalResult findOnce();

  /// Finds the values that no parameter and no cotangent makes.
  void findOfInputs();

  mlir::Value findNestedCount();

  /// Counts a sum before the micro-batches, or the sums that it is made of.
  /// False if a parameter makes one of these.
  bool count(mlir::Value sum);

  mlir::LogicalResult visit(mlir::Operation *op);

  /// An operation without an index structure computes the same in every part,
  /// or cannot be cut.
  mlir::LogicalResult checkForeign(mlir::Operation *op);

  /// Has `op` cut by its index `id`; `index` is what it is cut by so far.
  mlir::LogicalResult drive(mlir::Operation *op, IndexId id,
                            std::optional<IndexId> &index);

  mlir::LogicalResult visitDriven(mlir::Operation *op,
                                  const IndexStructure &structure,
                                  IndexId index);

  /// `tensor` is that of `result`, of an operation that is cut by `index`.
  mlir::LogicalResult visitResult(const IndexStructure &structure,
                                  IndexId index, mlir::Value result,
                                  const IndexStructure::Tensor &tensor);

  /// A part must be made of whole positions of every index that stands for the
  /// batch.
  mlir::LogicalResult checkEven(mlir::Operation *op,
                                const IndexStructure &structure, IndexId index,
                                const IndexStructure::Tensor &tensor,
                                unsigned dim);

  /// A value may be on more axes than the arguments are.
  mlir::LogicalResult checkShards(mlir::Value value, unsigned dim);

  /// An operation none of whose operands is cut.
  mlir::LogicalResult visitSums(mlir::Operation *op);

  mlir::LogicalResult refuseSummand(mlir::Operation *op, unsigned operand);

  /// Has `value` computed part by part where its operation can.
  void demand(mlir::Value value, unsigned dim);

  void set(mlir::Value value, Share share);

  mlir::FunctionOpInterface function;
  const Division &division;
  llvm::DenseMap<mlir::Operation *, IndexStructure> structures;
  /// The index by which an operation is cut.
  llvm::DenseMap<mlir::Operation *, IndexId> driven;
  llvm::DenseMap<mlir::Value, Share> shares;
  llvm::DenseSet<mlir::Value> ofInputs;
  llvm::SmallVector<mlir::Value> counted;
  llvm::DenseSet<mlir::Value> isCount;
  mlir::Value nested;
  bool changed = false, restarts = false;
};

} // namespace tpsp::microbatch

#endif // TPSP_PASSES_LOGICAL_MICROBATCHSHARES_H
