/// How other tensors are laid out relative to a matrix product. Decides whether
/// an operation that reads the product or an operand can become an epilogue.
#ifndef TPSP_ALGEBRA_MATMULEPILOGUE_H
#define TPSP_ALGEBRA_MATMULEPILOGUE_H

#include "tpsp/Algebra/MatmulCut.h"

namespace tpsp {

/// Whether every element of C at offset o lies in column o modulo n. A vector
/// of n elements that is repeated along the dense tensor is then repeated along
/// the columns.
bool columnIsOffset(const MatmulForm &form);

/// Whether sum_k A[i, k] is the sum of all elements of A whose offset modulo m
/// is i. For B it is n instead of m. The operand must have exactly `elements`
/// elements. Such a sum needs a single product.
bool sumIsByOffset(const MatmulForm &form, MatmulTensor operand,
                   int64_t elements);

/// Whether rows and matrices of C begin at multiples of `elements`.
bool isAligned(const MatmulForm &form, int64_t elements);

/// How a cut of the product divides a vector along C's rows (m elements) or
/// columns (n elements).
struct VectorCut {
  /// nullopt: every tile needs the whole vector.
  std::optional<Tiling> tiling;
};

/// Returns nullopt if the product's tiles do not correspond to tiles of the
/// vector. Then the cut index is a part of the vector's index, but not its
/// outermost part.
std::optional<VectorCut> cutColumns(const MatmulForm &form,
                                    const MatmulForm &tile);
std::optional<VectorCut> cutRows(const MatmulForm &form,
                                 const MatmulForm &tile);

} // namespace tpsp

#endif // TPSP_ALGEBRA_MATMULEPILOGUE_H
