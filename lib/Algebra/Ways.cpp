#include "tpsp/Algebra/Ways.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

namespace {

/// The part of a placement that `axis` decides, as axis 0 of a mesh of its own.
Placement alongAxis(const Placement &placement, AxisId axis) {
  Placement own(placement.dims.size());
  own.reduction = placement.reduction;
  for (auto [dim, axes] : llvm::zip_equal(own.dims, placement.dims))
    if (llvm::is_contained(axes, axis))
      dim.push_back(0);
  if (placement.isPending(axis))
    own.pending.push_back(0);
  return own;
}

/// Divides a tensor's shape by the axes other than `axis`.
void divideByOthers(IndexStructure::Tensor &tensor, const Placement &placement,
                    AxisId axis, const Mesh &mesh) {
  Placement others = placement;
  for (AxisList &axes : others.dims)
    llvm::erase(axes, axis);
  tensor.shape = localShape(tensor.shape, others, mesh);
}

/// The bytes of the all-reduces that complete unplaced results.
int64_t completion(const PlacedOperation &operation,
                   const ComputePlacement &choice) {
  int64_t bytes = 0;
  for (auto [i, comesOut] : llvm::enumerate(choice.results)) {
    if (operation.wanted[i] || comesOut.pending.empty())
      continue;
    const IndexStructure::Tensor &tensor = operation.structure.results[i];
    Placement whole = comesOut;
    whole.pending.clear();
    bytes += cost(*planTransition(comesOut, whole, operation.mesh), comesOut,
                  tensor.shape, tensor.elementBytes, operation.mesh)
                 .bytes;
  }
  return bytes;
}

Way wayOf(const PlacedOperation &operation, const ComputePlacement &choice) {
  return {choice.drives.front(),
          choice.cost.bytes + completion(operation, choice)};
}

} // namespace

AxisView::AxisView(const PlacedOperation &operation, AxisId axis)
    : structure(operation.structure), mesh({operation.mesh.axis(axis)}) {
  // The other axes are assumed to divide an unplaced result as they divide the
  // operands.
  llvm::SmallVector<int64_t, 6> divisors(structure.indices.size(), 1);
  for (auto [tensor, placement] :
       llvm::zip_equal(structure.operands, operation.operands)) {
    llvm::SmallVector<int64_t, 6> own(divisors.size(), 1);
    for (AxisId other = 0; other < operation.mesh.numAxes(); ++other)
      if (auto index =
              structure.indexDivided(tensor, placement, other, operation.mesh);
          index && other != axis)
        own[*index] *= operation.mesh.size(other);
    for (auto [divisor, here] : llvm::zip_equal(divisors, own))
      divisor = std::max(divisor, here);
    operands.push_back(alongAxis(placement, axis));
  }
  for (auto [tensor, placement] :
       llvm::zip_equal(structure.operands, operation.operands))
    divideByOthers(tensor, placement, axis, operation.mesh);
  for (auto [tensor, placement] :
       llvm::zip_equal(structure.results, operation.wanted)) {
    if (placement) {
      divideByOthers(tensor, *placement, axis, operation.mesh);
      wanted.push_back(alongAxis(*placement, axis));
      continue;
    }
    for (auto [dim, extent] : llvm::enumerate(tensor.shape))
      for (IndexId index : tensor.parts(dim))
        extent /= divisors[index];
    wanted.push_back(std::nullopt);
  }
  for (auto [index, divisor] : llvm::zip_equal(structure.indices, divisors))
    index.extent = std::max<int64_t>(index.extent / divisor, 1);
}

llvm::SmallVector<Way, 4> tpsp::waysAlong(const PlacedOperation &operation,
                                          AxisId axis) {
  AxisView view(operation, axis);
  llvm::SmallVector<Way, 4> ways;
  for (const Drive &drive : candidates(view.get(), 0))
    if (auto choice = evaluate(view.get(), drive))
      ways.push_back(wayOf(view.get(), *choice));
  return ways;
}

std::optional<Way> tpsp::chosenWay(const PlacedOperation &operation,
                                   AxisId axis) {
  AxisView view(operation, axis);
  auto choice = chooseComputePlacement(view.get());
  if (!choice)
    return std::nullopt;
  return wayOf(view.get(), *choice);
}
