/// The index structure of an operation: which named indices each operand and
/// result carries, and what the operation does over each.
///
/// This is all that placement, collectives and adjoints need to know of an
/// operation. A matmul y[b, s, e] = W[e, d] x[b, s, d] is
///
///   indices   e, d, b, s      operands {e, d}, {b, s, d}    results {b, s, e}
///
/// An index that no result carries is reduced (summed, or maximised). An index
/// marked `whole` (the row of a norm, the keys of a softmax) must not be
/// sharded. An operation that splits or merges dimensions names the merged
/// dimension by its major part and marks the minor parts whole. A block of the
/// merged dimension is then a block of the major index.
#ifndef TPSP_ALGEBRA_INDEXSTRUCTURE_H
#define TPSP_ALGEBRA_INDEXSTRUCTURE_H

#include "tpsp/Algebra/Placement.h"

namespace tpsp {

/// Position in IndexStructure::indices.
using IndexId = unsigned;

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
    /// Per dimension. An index appears at most once.
    llvm::SmallVector<IndexId, 4> indices;
    /// Global extents; differ from the index's own for a merged dimension.
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes = 4;

    std::optional<unsigned> dimOf(IndexId index) const;
  };

  llvm::SmallVector<Index, 6> indices;
  llvm::SmallVector<Tensor, 3> operands;
  llvm::SmallVector<Tensor, 1> results;
  Linearity linearity = Linearity::None;
  /// Whether each element of a result is an element of an operand. A maximum
  /// may then be taken after the operation instead of before it.
  bool selects = false;
  /// How indices that a result lacks are combined.
  Reduction reduction = Reduction::Sum;

  /// The index of this name, added if new.
  IndexId intern(llvm::StringRef name, int64_t extent);
  /// Scalar operations of one evaluation: the product of all extents.
  double work() const;
};

/// The structure of the operation that computes the gradient of `operand` of a
/// multilinear operation (an einsum). Its operands are the result's gradient
/// and the other operands in order. Its result has the operand's own indices.
/// An index that only `operand` carries is broadcast: the result has it and no
/// operand does.
IndexStructure adjoint(const IndexStructure &structure, unsigned operand);

} // namespace tpsp

#endif // TPSP_ALGEBRA_INDEXSTRUCTURE_H
