#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Abi/InvalidStatus.h"

namespace tpsp::rt {
namespace {

constexpr int64_t maxRanks = 65536;

} // namespace

Status RankMesh::create(std::vector<MeshAxis> axes, RankMesh &out) {
  int64_t ranks = 1;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name.empty())
      return invalid("mesh axis {} has no name", i);
    for (size_t j = 0; j < i; ++j)
      if (axes[i].name == axes[j].name)
        return invalid("the mesh has two axes '{}'", axes[i].name);
    if (axes[i].size < 1)
      return invalid("mesh axis '{}' has size {}; expected 1 or more",
                     axes[i].name, axes[i].size);
    if (axes[i].size > maxRanks / ranks)
      return invalid("the mesh has more than {} ranks", maxRanks);
    ranks *= axes[i].size;
  }
  out.meshAxes = std::move(axes);
  out.ranks = ranks;
  return {};
}

int64_t RankMesh::stride(size_t axis) const {
  int64_t result = 1;
  for (size_t i = axis + 1; i < meshAxes.size(); ++i)
    result *= meshAxes[i].size;
  return result;
}

std::vector<int64_t> RankMesh::coordinates(int64_t rank) const {
  std::vector<int64_t> result(meshAxes.size());
  for (size_t i = meshAxes.size(); i-- > 0;) {
    result[i] = rank % meshAxes[i].size;
    rank /= meshAxes[i].size;
  }
  return result;
}

Status RankMesh::group(int64_t rank, const std::vector<int64_t> &axes,
                       RankGroup &out) const {
  std::vector<int64_t> coordinate = coordinates(rank);
  int64_t first = rank;
  out.self = 0;
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= static_cast<int64_t>(meshAxes.size()))
      return invalid("mesh axis {} of a mesh with {}", axis, meshAxes.size());
    first -= coordinate[axis] * stride(axis);
    out.self = out.self * meshAxes[axis].size + coordinate[axis];
  }
  // Each axis, major to minor, multiplies the list by its size.
  out.ranks = {first};
  for (int64_t axis : axes) {
    std::vector<int64_t> wider;
    for (int64_t base : out.ranks)
      for (int64_t i = 0; i < meshAxes[axis].size; ++i)
        wider.push_back(base + i * stride(axis));
    out.ranks = std::move(wider);
  }
  return {};
}

} // namespace tpsp::rt
