/// Which matrix a parameter is, by what a program does with it.
#ifndef TPSP_PASSES_LOGICAL_MATRIXINDICES_H
#define TPSP_PASSES_LOGICAL_MATRIXINDICES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace mlir {
class Operation;
} // namespace mlir

namespace tpsp {

/// What an index of a parameter is in the products that take it: `wq[h, k, d]`
/// times `x[b, s, d]` has the rows h, k and the column d. An index of both
/// factors and the result (an expert) counts matrices.
enum class MatrixRole { Batch, Row, Column };

/// The names of indices that integers are positions of, in a function: the
/// vocabulary of a lookup and of a cross-entropy.
llvm::StringSet<> indicesOfIntegers(mlir::Operation *function);

/// The role of each dimension of `parameter`. None unless every use is a
/// product of two factors, all uses agree, and there are rows and columns. A
/// use may be behind views and operations of one operand that keep its indices
/// (a conversion). None, too, where integers are positions of a row or a
/// column: tables, heads and routers are no matrices to an optimizer.
std::optional<llvm::SmallVector<MatrixRole>>
matrixRolesOf(mlir::Value parameter, const llvm::StringSet<> &ofIntegers);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_MATRIXINDICES_H
