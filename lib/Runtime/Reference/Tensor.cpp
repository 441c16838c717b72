//===- Tensor.cpp - tensors, their names and extents ----------------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      return -1;
    count *= extent;
  }
  return count;
}

bool Tensor::isValid() const {
  return indices.size() == shape.size() &&
         elementCount(shape) == int64_t(data.size());
}

std::optional<int64_t> Tensor::extent(std::string_view name) const {
  auto it = std::find(indices.begin(), indices.end(), name);
  if (it == indices.end())
    return std::nullopt;
  return shape[it - indices.begin()];
}

Tensor full(const IndexNames &indices, const Shape &shape, double value,
            std::string *error) {
  const int64_t count = elementCount(shape);
  if (count < 0 || indices.size() != shape.size())
    return fail(error, "full: no such shape for indices " + toString(indices));
  return {indices, shape, std::vector<double>(count, value)};
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Tensor reshape(Tensor x, const IndexNames &indices, const Shape &shape,
               std::string *error) {
  if (!x.isValid())
    return fail(error, "reshape: invalid operand");
  if (indices.size() != shape.size() ||
      elementCount(shape) != int64_t(x.data.size()))
    return fail(error, "reshape: the shape of " + toString(indices) +
                           " does not hold the elements of " +
                           toString(x.indices));
  x.indices = indices;
  x.shape = shape;
  return x;
}

//===----------------------------------------------------------------------===//
// Preconditions
//===----------------------------------------------------------------------===//

Tensor fail(std::string *error, const std::string &message) {
  if (error && error->empty())
    *error = message;
  return {};
}

std::string toString(const IndexNames &names) {
  std::string text = "[";
  for (const std::string &name : names)
    text += (text.size() > 1 ? ", " : "") + name;
  return text + "]";
}

bool contains(const IndexNames &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool areDistinct(const IndexNames &names) {
  return without(names, {}).size() == names.size();
}

IndexNames without(const IndexNames &names, const IndexNames &removed) {
  IndexNames kept;
  for (const std::string &name : names)
    if (!contains(removed, name) && !contains(kept, name))
      kept.push_back(name);
  return kept;
}

IndexNames within(const IndexNames &names, const IndexNames &kept) {
  return without(names, without(names, kept));
}

IndexNames concat(IndexNames first, const IndexNames &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

int64_t strideAlong(const Tensor &x, const std::string &name) {
  int64_t stride = 1, sum = 0;
  for (size_t i = x.indices.size(); i-- > 0;) {
    if (x.indices[i] == name)
      sum += stride;
    stride *= x.shape[i];
  }
  return sum;
}

Shape offsetsOver(const Tensor &x, const IndexNames &names) {
  Shape offsets{0};
  for (const std::string &name : names) {
    const int64_t extent = *x.extent(name), stride = strideAlong(x, name);
    Shape longer;
    longer.reserve(offsets.size() * extent);
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < extent; ++i)
        longer.push_back(offset + i * stride);
    offsets = std::move(longer);
  }
  return offsets;
}

/// The extent of an index on which the operands agree, and `wanted` unless that
/// is negative. If they disagree, sets a message and returns -1.
static int64_t resolveExtent(const Operands &operands, const std::string &name,
                             int64_t wanted, std::string *error) {
  int64_t extent = wanted;
  for (const Tensor *x : operands)
    for (size_t i = 0; i < x->indices.size(); ++i) {
      if (x->indices[i] != name)
        continue;
      if (extent >= 0 && extent != x->shape[i]) {
        fail(error, "index '" + name + "' has extents " +
                        std::to_string(extent) + " and " +
                        std::to_string(x->shape[i]));
        return -1;
      }
      extent = x->shape[i];
    }
  if (extent < 0)
    fail(error, "index '" + name + "' has no extent");
  return extent;
}

std::optional<Shape> resolveShape(const Operands &operands,
                                  const IndexNames &names, const Shape &shape,
                                  std::string *error) {
  for (const Tensor *x : operands)
    if (!x || !x->isValid()) {
      fail(error, "invalid operand");
      return std::nullopt;
    }
  if (!areDistinct(names) || (!shape.empty() && shape.size() != names.size())) {
    fail(error, "bad result indices or shape for " + toString(names));
    return std::nullopt;
  }
  Shape resolved;
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t wanted = shape.empty() ? -1 : shape[i];
    resolved.push_back(resolveExtent(operands, names[i], wanted, error));
    if (resolved.back() < 0)
      return std::nullopt;
  }
  return resolved;
}

} // namespace tpsp::reference
