#include "tpsp/Algebra/Placement.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

std::optional<unsigned> Placement::dimOf(AxisId axis) const {
  for (unsigned dim = 0; dim < dims.size(); ++dim)
    if (llvm::is_contained(dims[dim], axis))
      return dim;
  return std::nullopt;
}

bool Placement::operator==(const Placement &other) const {
  if (dims != other.dims || pending.size() != other.pending.size())
    return false;
  if (!pending.empty() && reduction != other.reduction)
    return false;
  return llvm::all_of(pending,
                      [&](AxisId axis) { return other.isPending(axis); });
}

llvm::SmallVector<int64_t, 4> tpsp::localShape(llvm::ArrayRef<int64_t> shape,
                                               const Placement &placement,
                                               const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> local(shape.begin(), shape.end());
  for (auto [extent, axes] : llvm::zip_equal(local, placement.dims))
    extent /= mesh.groupSize(axes);
  return local;
}

std::optional<unsigned> tpsp::firstUnevenDim(llvm::ArrayRef<int64_t> shape,
                                             const Placement &placement,
                                             const Mesh &mesh) {
  for (unsigned dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] % mesh.groupSize(placement.dims[dim]) != 0)
      return dim;
  return std::nullopt;
}
