/// An einsum of two row-major tensors as a (batched, strided) matrix product.
///
/// Indices fall into four classes: batch (in both operands and the result), m
/// (first operand and result), n (second and result), k (both operands,
/// summed). Neighbouring indices of one class whose strides continue each other
/// in every tensor that carries them act as one. One such run of each class
/// becomes the matrix dimension. The others are loops around the product; where
/// an operand lacks the loop's index its stride is 0. Nothing is ever copied: a
/// matrix may be read through its transpose, but one of its two dimensions must
/// be contiguous.
#ifndef TPSP_ALGEBRA_MATMULFORM_H
#define TPSP_ALGEBRA_MATMULFORM_H

#include "tpsp/Algebra/IndexStructure.h"

namespace tpsp {

struct MatmulForm {
  /// One loop around the product; strides in elements.
  struct Loop {
    int64_t extent = 1;
    int64_t strideA = 0, strideB = 0, strideC = 0;
  };

  /// Whether A is the einsum's second operand.
  bool swapped = false;
  int64_t m = 1, n = 1, k = 1;
  /// Leading dimensions in elements. C is row-major; A and B may be stored
  /// transposed.
  int64_t lda = 1, ldb = 1, ldc = 1;
  bool transposeA = false, transposeB = false;
  llvm::SmallVector<Loop, 4> batch;
  /// Loops over summed indices (strideC is 0).
  llvm::SmallVector<Loop, 2> accumulate;
};

/// What stands in the way of a matrix product.
enum class MatmulObstacle {
  None,
  /// Nothing is contracted between two matrices: a loop nest serves.
  NotAProduct,
  /// A product, but no layout of it has a contiguous dimension in every matrix:
  /// a transpose copy would be needed.
  Layout
};

struct MatmulMatch {
  MatmulObstacle obstacle = MatmulObstacle::None;
  MatmulForm form;
};

/// Matches a two-operand structure of per-rank shapes (each index's extent is
/// taken from the tensors). The form with the largest m n k is taken.
MatmulMatch matchMatmul(const IndexStructure &structure);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULFORM_H
