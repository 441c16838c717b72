/// Where tensors beside a matrix product lie in it: whether what reads the
/// product, or an operand of it, can be done within it.
#ifndef TPSP_ALGEBRA_MATMULEPILOGUE_H
#define TPSP_ALGEBRA_MATMULEPILOGUE_H

#include "tpsp/Algebra/MatmulCut.h"

namespace tpsp {

/// Whether every element of C at offset o lies in column o modulo n. A vector
/// of n elements that is repeated along the dense tensor is then repeated along
/// the columns.
bool columnIsOffset(const MatmulForm &form);

/// Whether sum_k A[i, k] is the sum of all elements of A whose offset modulo m
/// is i. A must have just `elements` elements. Likewise B, with n. Such a sum
/// needs a single product.
bool sumIsByOffset(const MatmulForm &form, MatmulTensor operand,
                   int64_t elements);

/// Whether rows and matrices of C begin at multiples of `elements`.
bool isAligned(const MatmulForm &form, int64_t elements);

/// How a vector along C's rows (m elements) or columns (n) falls under a cut of
/// the product.
struct VectorCut {
  /// nullopt: every tile needs all of it.
  std::optional<Tiling> tiling;
};

/// nullopt if no tile of the vector goes with a tile of the product. Then the
/// cut index is a part of the vector's that is not its outermost.
std::optional<VectorCut> cutColumns(const MatmulForm &form,
                                    const MatmulForm &tile);
std::optional<VectorCut> cutRows(const MatmulForm &form,
                                 const MatmulForm &tile);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULEPILOGUE_H
