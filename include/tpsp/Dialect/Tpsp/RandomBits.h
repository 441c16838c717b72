/// The counter-based random number generator of dropout, as IR.
#ifndef TPSP_DIALECT_TPSP_RANDOMBITS_H
#define TPSP_DIALECT_TPSP_RANDOMBITS_H

#include "mlir/IR/PatternMatch.h"

namespace tpsp {

/// Positions side by side that share a block of the generator, one word each.
inline constexpr int64_t randomNeighbours = 4;

/// Operations that a block takes: ten rounds of two products, two shifts and
/// four exclusive ors.
inline constexpr double randomBlockOperations = 80;

/// The pattern that makes tpsp.random_bits arithmetic. Where it sees that they
/// are of one block, LLVM computes that once.
void populateExpandRandomBits(mlir::RewritePatternSet &patterns);

/// Unrolls the innermost loops around tpsp.random_bits, so that neighbours are
/// in one body. Needs loops in place of linalg's operations.
void unrollRandomNeighbours(mlir::Operation *kernel);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_RANDOMBITS_H
