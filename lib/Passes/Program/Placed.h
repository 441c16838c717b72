/// An operation of the IR as the algebra sees it.
#ifndef TPSP_PASSES_PROGRAM_PLACED_H
#define TPSP_PASSES_PROGRAM_PLACED_H

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tpsp {

/// An operation's structure with its tensors' placements, owning what
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

/// What placing an operation depends on: those of equal signatures have equal
/// structures, and tensors that are placed and marked alike.
using Signature = llvm::SmallVector<const void *, 12>;
Signature signatureOf(IndexedOpInterface op);

/// Whether a value is a parameter, perhaps under another shape or changed
/// element by element, or the gradient of one (weightAttrName).
bool isWeight(mlir::Value value);

/// The argument that a value is, perhaps under another shape or changed element
/// by element; null if it is none.
mlir::BlockArgument argumentBehind(mlir::Value value);

/// Whether an argument is marked as a parameter (paramAttrName).
bool isParameter(mlir::BlockArgument argument);

/// Bytes of one rank's part of a tensor, of a global or a local type.
int64_t localBytes(mlir::Type type, const Mesh &mesh);

/// "%w", as the source has it, or "operand #0".
std::string operandName(mlir::Operation *op, unsigned operand);

/// A name for people: the argument's or the location's, else "einsum" for the
/// result of an einsum.
std::string tensorName(mlir::Value value);

/// Likewise for a function's result: what the program calls it, or its value.
std::string resultName(mlir::FunctionOpInterface function, unsigned number);

} // namespace tpsp

#endif // TPSP_PASSES_PROGRAM_PLACED_H
