/// Determines from a parameter's uses which of its indices form a matrix.
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

/// The role of a parameter's index in the products that use it: `wq[h, k, d]`
/// times `x[b, s, d]` has the rows h, k and the column d. An index of both
/// factors and the result (an expert) counts matrices.
enum class MatrixRole { Batch, Row, Column };

/// The names of indices in a function whose positions integers hold: the
/// vocabulary of a look-up and of a cross-entropy.
llvm::StringSet<> indicesOfIntegers(mlir::Operation *function);

/// The role of each dimension of `parameter`. It is nullopt unless every use is
/// a product of two factors, all uses agree, and there are rows and columns. A
/// use may follow views and operations of one operand that keep its indices (a
/// conversion). Also nullopt if integers are positions of a row or a column,
/// because optimizers do not treat tables, heads and routers as matrices.
std::optional<llvm::SmallVector<MatrixRole>>
matrixRolesOf(mlir::Value parameter, const llvm::StringSet<> &ofIntegers);

} // namespace tpsp

#endif // TPSP_PASSES_LOGICAL_MATRIXINDICES_H
