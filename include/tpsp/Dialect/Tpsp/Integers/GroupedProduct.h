/// Products of two tensors, plain or grouped.
///
///   y[s, e] = W[e, d] x[s, d]             an einsum of two factors
///   y[s, e] = W[id[s], e, d] x[s, d]      a grouped product: each row has the
///                                         matrix that its integer chooses
///
/// Both take 2 s e d FLOPs. This header has what passes need to know of either.
#ifndef TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_H
#define TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h.inc"

namespace tpsp {

struct Factors {
  /// The index structure of the two factors and the result.
  IndexStructure structure;
  /// The factors' operand numbers.
  unsigned a = 0, b = 1;
  /// The index of the structure along which integers choose matrices. It is not
  /// an index of the product itself.
  std::optional<IndexId> chosen = {};

  /// The number of multiplications.
  double work() const {
    return structure.work() /
           (chosen ? double(structure.indices[*chosen].extent) : 1.0);
  }
};

/// nullopt if `op` is not a product of two tensors.
std::optional<Factors> factorsOf(IndexedOpInterface op);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_INTEGERS_GROUPEDPRODUCT_H
