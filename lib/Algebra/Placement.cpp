#include "tpsp/Algebra/Placement.h"

#include "tpsp/Abi/FlatCut.h"

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

/// The first axes of a dimension, which divide it evenly.
static llvm::ArrayRef<AxisId>
evenPart(int64_t extent, llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  auto sizes = llvm::map_range(axes, [&](AxisId a) { return mesh.size(a); });
  return axes.take_front(evenAxes(extent, sizes));
}

llvm::SmallVector<int64_t, 4> tpsp::localShape(llvm::ArrayRef<int64_t> shape,
                                               const Placement &placement,
                                               const Mesh &mesh) {
  llvm::SmallVector<int64_t, 4> local(shape.begin(), shape.end());
  std::optional<FlatCut> cut = flatCut(shape, placement, mesh);
  for (auto [dim, axes] : llvm::enumerate(placement.dims))
    local[dim] /= mesh.groupSize(evenPart(local[dim], axes, mesh));
  if (!cut)
    return local;
  int64_t piece = pieceOf(llvm::product_of(local), mesh.groupSize(cut->axes));
  local.assign(local.size(), 1);
  local.back() = piece;
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

std::optional<FlatCut> tpsp::flatCut(llvm::ArrayRef<int64_t> shape,
                                     const Placement &placement,
                                     const Mesh &mesh) {
  std::optional<unsigned> dim = firstUnevenDim(shape, placement, mesh);
  if (!dim)
    return std::nullopt;
  llvm::ArrayRef<AxisId> axes = placement.dims[*dim];
  size_t even = evenPart(shape[*dim], axes, mesh).size();
  return FlatCut{*dim, AxisList(axes.drop_front(even))};
}

Placement tpsp::withoutCut(llvm::ArrayRef<int64_t> shape, Placement placement,
                           const Mesh &mesh) {
  if (std::optional<FlatCut> cut = flatCut(shape, placement, mesh))
    placement.dims[cut->dim].pop_back_n(cut->axes.size());
  return placement;
}

bool tpsp::canBeStored(llvm::ArrayRef<int64_t> shape,
                       const Placement &placement, const Mesh &mesh) {
  std::optional<FlatCut> cut = flatCut(shape, placement, mesh);
  if (!cut)
    return true;
  return !firstUnevenDim(shape, withoutCut(shape, placement, mesh), mesh) &&
         llvm::all_of(cut->axes, [&](AxisId axis) {
           return mesh.axis(axis).role == AxisRole::Data ||
                  mesh.size(axis) == 1;
         });
}

Placement tpsp::withCutLast(llvm::ArrayRef<int64_t> shape,
                            const Placement &placement, const Mesh &mesh) {
  Placement last = withoutCut(shape, placement, mesh);
  if (std::optional<FlatCut> cut = flatCut(shape, placement, mesh))
    last.dims.back().append(cut->axes.begin(), cut->axes.end());
  return last;
}
