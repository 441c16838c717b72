#include "tpsp/Algebra/IndexStructure.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;

std::optional<unsigned> IndexStructure::Tensor::dimOf(IndexId index) const {
  for (unsigned dim = 0; dim < indices.size(); ++dim)
    if (indices[dim] == index)
      return dim;
  return std::nullopt;
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
