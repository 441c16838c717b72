/// Where a tensor lives: for each dimension the mesh axes that shard it, and
/// the pending axes. Over pending axes its values are still to be combined.
///
/// `z[b, s@tp, d]` is dims = {{}, {tp}, {}}. `w[d, e | sum@dp]` is dims =
/// {{}, {}}, pending = {dp}: every rank along dp holds a summand. Index names
/// are not part of a placement; they belong to the tensor or the operation.
#ifndef TPSP_ALGEBRA_PLACEMENT_H
#define TPSP_ALGEBRA_PLACEMENT_H

#include "tpsp/Algebra/Mesh.h"

namespace tpsp {

/// How the ranks' values of a pending (partial) tensor combine.
enum class Reduction { Sum, Max };

struct Placement {
  /// Per dimension, major to minor. An axis appears at most once in the whole
  /// placement, `pending` included.
  llvm::SmallVector<AxisList, 4> dims;
  AxisList pending;
  Reduction reduction = Reduction::Sum;

  Placement() = default;
  explicit Placement(unsigned rank) : dims(rank) {}

  bool isPending(AxisId axis) const {
    return llvm::is_contained(pending, axis);
  }
  /// The dimension that `axis` shards, if any.
  std::optional<unsigned> dimOf(AxisId axis) const;
  /// Whether `axis` shards a dimension or is pending.
  bool uses(AxisId axis) const { return isPending(axis) || dimOf(axis); }

  /// Pending axes are compared as a set.
  bool operator==(const Placement &other) const;
  bool operator!=(const Placement &other) const { return !(*this == other); }
};

/// One rank's part of a tensor of this global shape. If the tensor is cut as a
/// row (flatCut), its last extent is that of a piece, and the others are 1.
llvm::SmallVector<int64_t, 4> localShape(llvm::ArrayRef<int64_t> shape,
                                         const Placement &placement,
                                         const Mesh &mesh);

/// The first dimension whose axes do not divide its extent, if any.
std::optional<unsigned> firstUnevenDim(llvm::ArrayRef<int64_t> shape,
                                       const Placement &placement,
                                       const Mesh &mesh);

/// The axes of `dim` that cut a tensor as a row of elements (Abi/FlatCut.h),
/// major to minor.
struct FlatCut {
  unsigned dim;
  AxisList axes;
};

/// The cut of the first dimension whose axes do not divide it; nullopt if all
/// dimensions are even.
std::optional<FlatCut> flatCut(llvm::ArrayRef<int64_t> shape,
                               const Placement &placement, const Mesh &mesh);

/// Whether ranks can store a tensor of this shape. Every axis must divide its
/// dimension, or data axes of a single dimension cut the tensor as a row.
bool canBeStored(llvm::ArrayRef<int64_t> shape, const Placement &placement,
                 const Mesh &mesh);

/// The placement without the axes that cut the tensor as a row of elements.
Placement withoutCut(llvm::ArrayRef<int64_t> shape, Placement placement,
                     const Mesh &mesh);

/// The placement with the axes of a cut on the last dimension, where the pieces
/// of localShape have them; unchanged if there is no cut.
Placement withCutLast(llvm::ArrayRef<int64_t> shape, const Placement &placement,
                      const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_ALGEBRA_PLACEMENT_H
