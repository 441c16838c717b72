#include "EinsumCases.h"

#include <random>

using namespace tpsp;
using namespace tpsp::oracle;

bool oracle::inFirst(Role role) {
  return role != Role::Second && role != Role::SecondSummed;
}
bool oracle::inSecond(Role role) {
  return role != Role::First && role != Role::FirstSummed;
}
bool oracle::inResult(Role role) {
  return role == Role::First || role == Role::Second || role == Role::Batch;
}

std::vector<std::vector<Role>> oracle::allRoles(unsigned count) {
  if (count == 0)
    return {{}};
  std::vector<std::vector<Role>> longer;
  for (const std::vector<Role> &roles : allRoles(count - 1))
    for (int role = roles.empty() ? 0 : int(roles.back()); role < 6; ++role) {
      longer.push_back(roles);
      longer.back().push_back(Role(role));
    }
  return longer;
}

IndexStructure oracle::structureOf(const std::vector<CaseIndex> &indices,
                                   int64_t elementBytes) {
  IndexStructure structure;
  structure.linearity = Linearity::Multi;
  structure.operands.resize(2);
  structure.results.resize(1);
  auto carry = [&](IndexStructure::Tensor &tensor, IndexId id, int64_t extent) {
    tensor.indices.push_back(id);
    tensor.shape.push_back(extent);
  };
  for (IndexStructure::Tensor *tensor :
       {&structure.operands[0], &structure.operands[1], &structure.results[0]})
    tensor->elementBytes = elementBytes;
  for (const CaseIndex &index : indices) {
    std::string name(1, char('a' + structure.indices.size()));
    IndexId id = structure.intern(name, index.extent);
    if (inFirst(index.role))
      carry(structure.operands[0], id, index.extent);
    if (inSecond(index.role))
      carry(structure.operands[1], id, index.extent);
    if (inResult(index.role))
      carry(structure.results[0], id, index.extent);
  }
  return structure;
}

std::string oracle::toString(const std::vector<Role> &roles) {
  std::string first, second, result;
  for (size_t i = 0; i < roles.size(); ++i) {
    char letter = char('a' + i);
    if (inFirst(roles[i]))
      first += letter;
    if (inSecond(roles[i]))
      second += letter;
    if (inResult(roles[i]))
      result += letter;
  }
  return first + "," + second + "->" + result;
}

Dense oracle::randomTensor(const IndexStructure::Tensor &tensor,
                           unsigned seed) {
  Dense dense(Shape(tensor.shape.begin(), tensor.shape.end()));
  std::mt19937 random(seed);
  for (int64_t &value : dense.values)
    value = int64_t(random() % 201) - 100;
  return dense;
}

Dense oracle::evaluateDense(const IndexStructure &structure,
                            const std::vector<Dense> &operands) {
  auto project = [](const IndexStructure::Tensor &tensor,
                    const std::vector<int64_t> &position) {
    std::vector<int64_t> own;
    for (IndexId index : tensor.indices)
      own.push_back(position[index]);
    return own;
  };
  // The extents are the operands', which may be one rank's blocks.
  Shape extents(structure.indices.size());
  for (size_t i = 0; i < extents.size(); ++i)
    extents[i] = structure.indices[i].extent;
  for (size_t i = 0; i < operands.size(); ++i)
    for (size_t dim = 0; dim < operands[i].shape.size(); ++dim)
      extents[structure.operands[i].indices[dim]] = operands[i].shape[dim];
  Dense result(project(structure.results[0], extents));
  forEachPosition(extents, [&](const std::vector<int64_t> &position) {
    int64_t product = 1;
    for (size_t i = 0; i < operands.size(); ++i)
      product *= operands[i].at(project(structure.operands[i], position));
    result.at(project(structure.results[0], position)) += product;
  });
  return result;
}

int64_t oracle::dot(const Dense &a, const Dense &b) {
  int64_t sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}
