/// An einsum of two row-major tensors as a (batched, strided) matrix product.
///
/// Indices fall into four classes: batch (in both operands and the result), m
/// (first operand and result), n (second and result), k (both operands,
/// summed). Neighbouring indices of one class are merged if their strides
/// continue each other in every tensor that carries them. One merged index of
/// each class becomes the matrix dimension, and the others become loops around
/// the product. If an operand lacks a loop's index, its stride is 0. Nothing is
/// ever copied: a matrix may be read through its transpose, but one of its two
/// dimensions must be contiguous.
#ifndef TPSP_ALGEBRA_MATMULFORM_H
#define TPSP_ALGEBRA_MATMULFORM_H

#include "tpsp/Abi/Commands.h"
#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

/// The forms of the commands.
using rt::GroupedMatmulForm;
using rt::MatmulForm;

/// The obstacle to a matrix product.
enum class MatmulObstacle {
  None,
  /// It contracts no two matrices, so a loop nest is enough.
  NotAProduct,
  /// It is a product, but no layout has a contiguous dimension in every matrix:
  /// a transpose copy would be needed.
  Layout
};

struct MatmulMatch {
  MatmulObstacle obstacle = MatmulObstacle::None;
  MatmulForm form = {};
  /// Whether A is the einsum's second operand.
  bool isSwapped = false;
};

/// Matches a two-operand structure of per-rank shapes; each index's extent is
/// taken from the tensors. Chooses the form with the largest m n k.
MatmulMatch matchMatmul(const IndexStructure &structure);

struct GroupedMatmulMatch {
  MatmulObstacle obstacle = MatmulObstacle::None;
  GroupedMatmulForm form = {};
  /// Whether A is the second of the two tensors of numbers.
  bool isSwapped = false;
};

/// Matches a structure of three operands. The first operand has integers:
/// positions along `chosen`, an index that one other tensor has. Rows are the
/// integers' innermost index.
GroupedMatmulMatch matchGroupedMatmul(const IndexStructure &structure,
                                      IndexId chosen);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULFORM_H
