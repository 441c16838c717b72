/// Presents an operation of the IR to the algebra.
#ifndef TPSP_PASSES_PROGRAM_PLACED_H
#define TPSP_PASSES_PROGRAM_PLACED_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// An operation's structure with its tensors' placements. Owns the data that
/// PlacedOperation refers to.
class PlacedStructure {
public:
  PlacedStructure(IndexedOpInterface op, const Mesh &mesh);

  /// Valid as long as this object.
  PlacedOperation get() const {
    return {structure, operands, wanted, mesh, weights};
  }

  IndexStructure structure;
  llvm::SmallVector<Placement, 3> operands;
  /// nullopt for an unplaced result.
  llvm::SmallVector<std::optional<Placement>, 1> wanted;
  /// Per operand, then per result.
  llvm::SmallVector<bool, 4> weights;

private:
  const Mesh &mesh;
};

/// Everything that placing an operation depends on. Operations of equal
/// signatures have equal structures, and tensors with equal placements and
/// marks.
using Signature = llvm::SmallVector<const void *, 12>;
Signature signatureOf(IndexedOpInterface op);

/// Whether a value is a parameter, possibly reshaped or changed elementwise, or
/// the gradient of one (weightAttrName).
bool isWeight(mlir::Value value);

/// The argument that a value is, possibly reshaped or changed elementwise; null
/// if it is none.
mlir::BlockArgument argumentBehind(mlir::Value value);

/// Whether an argument is marked as a parameter (paramAttrName).
bool isParameter(mlir::BlockArgument argument);

/// Bytes of one rank's part of a tensor, of a global or a local type.
int64_t localBytes(mlir::Type type, const Mesh &mesh);

/// "%w", as in the source, or "operand #0".
std::string operandName(mlir::Operation *op, unsigned operand);

/// A name for people: that of the argument or location, else "einsum" for the
/// result of an einsum.
std::string tensorName(mlir::Value value);

/// A name for people of a function's result: the program's name for it, or that
/// of its value.
std::string resultName(mlir::FunctionOpInterface function, unsigned number);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_PLACED_H
