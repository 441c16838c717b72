/// The index structure of an operation: the named indices of each operand and
/// result, and what the operation does over each index.
///
/// Placement, collectives and adjoints need to know nothing else of an
/// operation. The structure of a matmul y[b, s, e] = W[e, d] x[b, s, d] is
///
///   indices   e, d, b, s      operands {e, d}, {b, s, d}    results {b, s, e}
///
/// An index that no result carries is reduced (summed, or maximised). An index
/// marked `whole` (the row of a norm, the keys of a softmax) must not be
/// sharded.
///
/// A dimension that is split, or merged, has several indices: its parts, major
/// to minor. A block of the dimension is a block of the major part. If axes
/// divide the major part down to single positions, a block of the dimension is
/// a block of the next part. So o@kv@rep = (g@kv, r@rep) if kv has as many
/// ranks as g has positions.
#ifndef TPSP_ALGEBRA_INDEXSTRUCTURE_H
#define TPSP_ALGEBRA_INDEXSTRUCTURE_H

#include "tpsp/Algebra/Placement.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tpsp {

/// Position in IndexStructure::indices.
using IndexId = unsigned;
using IndexList = llvm::SmallVector<IndexId, 2>;

/// Whether a sum may be taken after the operation instead of before it.
enum class Linearity {
  None,  ///< no: partial operands must be completed first
  Joint, ///< linear in all operands together: partial if all are (add, scale)
  Multi  ///< linear in each operand alone: partial if exactly one is (einsum)
};

struct IndexStructure {
  struct Index {
    std::string name;
    int64_t extent = 1;
    bool whole = false;
  };
  struct Tensor {
    /// Per dimension, its index; for a dimension with several parts, the major
    /// part. An index appears at most once.
    llvm::SmallVector<IndexId, 4> indices;
    /// Global extents. A merged dimension's extent differs from its index's
    /// extent.
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 4;
    /// Per dimension, the other parts, major to minor. Empty if no dimension
    /// has several parts.
    llvm::SmallVector<IndexList, 0> minors;

    std::optional<unsigned> dimOf(IndexId index) const;
    /// All indices of a dimension, major to minor.
    IndexList parts(unsigned dim) const;
  };

  llvm::SmallVector<Index, 6> indices;
  llvm::SmallVector<Tensor, 3> operands;
  llvm::SmallVector<Tensor, 1> results;
  Linearity linearity = Linearity::None;
  /// Whether each element of a result is an element of an operand. If so, a
  /// maximum may be taken after the operation instead of before it.
  bool selects = false;
  /// Whether it computes with the positions of elements, such as a mask.
  bool usesPositions = false;
  /// How values along the indices that a result lacks are combined.
  Reduction reduction = Reduction::Sum;

  /// Returns the index of this name, and adds it if it is new.
  IndexId intern(llvm::StringRef name, int64_t extent);
  /// Scalar operations of one evaluation: the product of all extents.
  double work() const;
  /// Whether the operation can work on tensors that are cut as rows of elements
  /// (Abi/FlatCut.h). Each tensor then has all indices in one order, or none,
  /// and no position counts: it is elementwise, or a sum of everything.
  bool worksOnRows() const;
  /// Whether integers choose positions of this operand along an index that the
  /// results lack, and no other operand of numbers has the index. If an axis
  /// divided it, each rank would have a result of full size, mostly zeros, and
  /// the sum would have to be reduced.
  bool isLookedUp(unsigned operand, IndexId index,
                  llvm::function_ref<bool(unsigned)> hasNumbers) const;
  /// Whether some dimension has the index as a minor part.
  bool isMinor(IndexId index) const;
  /// The index that `axis` divides. An axis divides the first part of a
  /// dimension that the axes before it have not used up. Returns nullopt if the
  /// placement lacks the axis, or if it would divide two parts at once.
  std::optional<IndexId> indexDivided(const Tensor &tensor,
                                      const Placement &placement, AxisId axis,
                                      const Mesh &mesh) const;
  /// Whether a rank's part of the dimension is one block, if each index is
  /// divided into `ranks(index)` parts. It is one block if all parts before a
  /// divided part are used up.
  bool isOneBlock(const Tensor &tensor, unsigned dim,
                  llvm::function_ref<int64_t(IndexId)> ranks) const;
};

/// The structure of the operation that computes the gradient of `operand` of a
/// multilinear operation (an einsum). Its operands are the result's gradient
/// and the other operands in order. Its result has the operand's own indices.
/// An index that only `operand` carries is broadcast: the result has it and no
/// operand does.
IndexStructure adjoint(const IndexStructure &structure, unsigned operand);

} // namespace tpsp

#endif // TPSP_ALGEBRA_INDEXSTRUCTURE_H
