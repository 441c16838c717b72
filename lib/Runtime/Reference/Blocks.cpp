//===- Blocks.cpp - positions of an index as tensors ----------------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

/// The product of the extents of the dimensions after `dim`.
static int64_t elementsBehind(const Shape &shape, size_t dim) {
  int64_t count = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    count *= shape[i];
  return count;
}

Tensor part(const Tensor &x, const std::string &index, int64_t begin,
            int64_t count, std::string *error) {
  if (!x.isValid())
    return {};
  const auto it = std::find(x.indices.begin(), x.indices.end(), index);
  if (it == x.indices.end())
    return fail(error, "part: " + toString(x.indices) + " lacks " + index);
  const size_t dim = it - x.indices.begin();
  const int64_t extent = x.shape[dim], chunk = elementsBehind(x.shape, dim);
  if (begin < 0 || count < 0 || begin > extent - count)
    return fail(error,
                "part: no position " +
                    std::to_string(begin < 0 ? begin : begin + count - 1) +
                    " of " + index);
  Tensor result{x.indices, x.shape, {}};
  result.shape[dim] = count;
  result.data.reserve(elementCount(result.shape));
  const int64_t step = extent * chunk, size = x.data.size();
  for (int64_t at = begin * chunk; at < size; at += step)
    result.data.insert(result.data.end(), x.data.begin() + at,
                       x.data.begin() + at + count * chunk);
  return result;
}

Tensor take(const Tensor &x, const std::string &index, int64_t at,
            std::string *error) {
  Tensor result = part(x, index, at, 1, error);
  if (!result.isValid())
    return {};
  const size_t dim =
      std::find(x.indices.begin(), x.indices.end(), index) - x.indices.begin();
  result.indices.erase(result.indices.begin() + dim);
  result.shape.erase(result.shape.begin() + dim);
  return result;
}

Tensor stack(const Operands &operands, const std::string &index,
             const IndexNames &indices, std::string *error) {
  if (operands.empty())
    return fail(error, "stack: no operands");
  const IndexNames rest = without(indices, {index});
  for (const Tensor *operand : operands) {
    if (!operand->isValid())
      return {};
    if (operand->indices != rest || operand->shape != operands[0]->shape)
      return fail(error, "stack: " + toString(operand->indices) +
                             " is not one position of " + toString(indices));
  }
  const size_t dim =
      std::find(indices.begin(), indices.end(), index) - indices.begin();
  if (dim == indices.size())
    return fail(error, "stack: " + toString(indices) + " lacks " + index);
  Tensor result{indices, operands[0]->shape, {}};
  result.shape.insert(result.shape.begin() + dim, operands.size());
  const int64_t chunk = elementsBehind(result.shape, dim);
  const int64_t size = operands[0]->data.size();
  for (int64_t begin = 0; begin < size; begin += chunk)
    for (const Tensor *operand : operands)
      for (int64_t i = 0; i < chunk; ++i)
        result.data.push_back(operand->data[begin + i]);
  return result;
}

} // namespace tpsp::reference
