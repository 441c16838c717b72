/// An operation of the IR as the algebra sees it.
#ifndef TPSP_PASSES_PLACED_H
#define TPSP_PASSES_PLACED_H

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

namespace tpsp {

/// An operation's structure with its tensors' placements, owning what
/// PlacedOperation refers to.
class Placed {
public:
  Placed(IndexedOpInterface op, const Mesh &mesh);

  /// Valid as long as this object.
  PlacedOperation get() const { return {structure, operands, wanted, mesh}; }

  IndexStructure structure;
  llvm::SmallVector<Placement, 3> operands;
  /// nullopt for an unplaced result.
  llvm::SmallVector<std::optional<Placement>, 1> wanted;

private:
  const Mesh &mesh;
};

/// Bytes of one rank's part of a tensor, of a global or a local type.
int64_t localBytes(mlir::Type type, const Mesh &mesh);

/// The name that the source gives a value; null if it gives none. The name of
/// an inlined call is not that of the values inside.
mlir::NameLoc sourceName(mlir::Location loc);

/// A name for people: the argument's or the location's, else "einsum" for the
/// result of an einsum.
std::string tensorName(mlir::Value value);

/// The same place in the source, for an operation that is not what the source
/// names there.
mlir::Location withoutName(mlir::Location loc);

} // namespace tpsp

#endif // TPSP_PASSES_PLACED_H
