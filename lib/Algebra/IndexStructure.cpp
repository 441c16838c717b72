#include "tpsp/Algebra/IndexStructure.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

std::optional<unsigned> IndexStructure::Tensor::dimOf(IndexId index) const {
  for (unsigned dim = 0; dim < indices.size(); ++dim)
    if (indices[dim] == index ||
        (!minors.empty() && llvm::is_contained(minors[dim], index)))
      return dim;
  return std::nullopt;
}

IndexList IndexStructure::Tensor::parts(unsigned dim) const {
  IndexList all = {indices[dim]};
  if (!minors.empty())
    llvm::append_range(all, minors[dim]);
  return all;
}

IndexId IndexStructure::intern(llvm::StringRef name, int64_t extent) {
  for (IndexId id = 0; id < indices.size(); ++id)
    if (indices[id].name == name)
      return id;
  indices.push_back({name.str(), extent, /*whole=*/false});
  return indices.size() - 1;
}

double IndexStructure::work() const {
  double product = 1;
  for (const Index &index : indices)
    product *= static_cast<double>(index.extent);
  return product;
}

bool IndexStructure::worksOnRows() const {
  auto fits = [&](const Tensor &tensor) {
    return tensor.indices.empty() ||
           (tensor.minors.empty() && tensor.indices.size() == indices.size() &&
            llvm::is_sorted(tensor.indices));
  };
  bool isAnyWhole =
      llvm::any_of(indices, [](const Index &index) { return index.whole; });
  return !usesPositions && !isAnyWhole && llvm::all_of(operands, fits) &&
         llvm::all_of(results, fits);
}

bool IndexStructure::isLookedUp(
    unsigned operand, IndexId index,
    llvm::function_ref<bool(unsigned)> hasNumbers) const {
  if (!usesPositions)
    return false;
  for (const Tensor &result : results)
    if (result.dimOf(index))
      return false;
  for (unsigned other = 0; other < operands.size(); ++other)
    if (other != operand && operands[other].dimOf(index) && hasNumbers(other))
      return false;
  return true;
}

bool IndexStructure::isMinor(IndexId index) const {
  auto has = [&](const Tensor &tensor) {
    std::optional<unsigned> dim = tensor.dimOf(index);
    return dim && tensor.indices[*dim] != index;
  };
  return llvm::any_of(operands, has) || llvm::any_of(results, has);
}

std::optional<IndexId> IndexStructure::indexDivided(const Tensor &tensor,
                                                    const Placement &placement,
                                                    AxisId axis,
                                                    const Mesh &mesh) const {
  std::optional<unsigned> dim = placement.dimOf(axis);
  if (!dim)
    return std::nullopt;
  IndexList parts = tensor.parts(*dim);
  if (parts.size() == 1)
    return parts.front();
  size_t part = 0;
  int64_t left = indices[parts.front()].extent;
  for (AxisId divides : placement.dims[*dim]) {
    while (left == 1 && mesh.size(divides) > 1 && part + 1 < parts.size())
      left = indices[parts[++part]].extent;
    if (left % mesh.size(divides) != 0)
      return std::nullopt;
    if (divides == axis)
      return parts[part];
    left /= mesh.size(divides);
  }
  return std::nullopt;
}

bool IndexStructure::isOneBlock(
    const Tensor &tensor, unsigned dim,
    llvm::function_ref<int64_t(IndexId)> ranks) const {
  bool isUsedUp = true;
  for (IndexId part : tensor.parts(dim)) {
    if (!isUsedUp && ranks(part) > 1)
      return false;
    isUsedUp &= ranks(part) == indices[part].extent;
  }
  return true;
}

IndexStructure tpsp::adjoint(const IndexStructure &structure,
                             unsigned operand) {
  IndexStructure result;
  result.indices = structure.indices;
  result.linearity = Linearity::Multi;
  result.operands.push_back(structure.results.front());
  for (auto [i, tensor] : llvm::enumerate(structure.operands))
    if (i != operand)
      result.operands.push_back(tensor);
  result.results.push_back(structure.operands[operand]);
  return result;
}
