/// The counter-based random number generator of dropout, as IR.
#ifndef TPSP_DIALECT_TPSP_OPERATIONS_RANDOMBITS_H
#define TPSP_DIALECT_TPSP_OPERATIONS_RANDOMBITS_H

#include "mlir/IR/PatternMatch.h"

#include <array>

namespace tpsp {

/// Neighbouring positions that share a block of the generator, one word each.
inline constexpr int64_t randomNeighbours = 4;

/// Operations that one block takes: ten rounds of two products, two shifts and
/// two exclusive ors of three. They work on 64-bit lanes, so each counts as
/// two.
inline constexpr double randomBlockOperations = 120;

/// The words of block number `blocks`, each in the lower half of an i64. The
/// upper half is undefined. For a vector of block numbers the words are
/// vectors. `step` is an i64, or null for 0.
std::array<mlir::Value, randomNeighbours>
emitRandomWords(mlir::OpBuilder &b, mlir::Location loc, mlir::Value blocks,
                mlir::Value step, int64_t seed);

/// Adds the pattern that expands each tpsp.random_bits into arithmetic by
/// itself.
void populateExpandRandomBits(mlir::RewritePatternSet &patterns);

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_OPERATIONS_RANDOMBITS_H
