#include "Constant.h"
#include "Refusal.h"
#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::import;
using namespace tpsp::import::torch;

/// Constants with more elements that differ are deferred.
static constexpr int64_t mostEvaluated = 1 << 16;
static constexpr int64_t mostElements = 1 << 24;
/// An element of a deferred constant costs at most so many operations.
static constexpr int64_t mostWork = 64;

double torch::rounded(double value, ScalarType type) {
  switch (type) {
  case ScalarType::F64:
    return value;
  case ScalarType::F32:
    return static_cast<double>(static_cast<float>(value));
  case ScalarType::BF16:
    return rt::bf16ToFloat(rt::floatToBf16(static_cast<float>(value)));
  case ScalarType::F16:
    return rt::f16ToFloat(rt::floatToF16(static_cast<float>(value)));
  case ScalarType::Bool:
    return value != 0 ? 1 : 0;
  default:
    return std::trunc(value);
  }
}

Sizes torch::broadcastSizes(const std::vector<Sizes> &sizes) {
  Sizes result;
  for (const Sizes &one : sizes) {
    if (one.size() > result.size())
      result.insert(result.begin(), one.size() - result.size(), 1);
    for (size_t i = 0; i < one.size(); ++i) {
      int64_t &to = result[result.size() - one.size() + i];
      if (to == 1)
        to = one[i];
      else if (one[i] != 1 && one[i] != to)
        refuse("tensors of {} and {} positions do not broadcast", to, one[i]);
    }
  }
  return result;
}

void torch::forEachPosition(const Sizes &sizes,
                            const std::function<void(const Sizes &)> &visit) {
  Sizes position(sizes.size(), 0);
  for (int64_t left = elementsOf(sizes); left > 0; --left) {
    visit(position);
    for (size_t i = sizes.size(); i-- > 0;) {
      if (++position[i] < sizes[i])
        break;
      position[i] = 0;
    }
  }
}

static Sizes rowMajor(const Sizes &sizes) {
  Sizes strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

ConstantPtr Constant::filled(ScalarType type, Sizes sizes, double value) {
  auto out = std::shared_ptr<Constant>(new Constant());
  out->elementType = type;
  out->strides.assign(sizes.size(), 0);
  out->extents = std::move(sizes);
  out->data = std::make_shared<std::vector<double>>(1, rounded(value, type));
  return out;
}

ConstantPtr Constant::dense(ScalarType type, Sizes sizes,
                            std::vector<double> elements) {
  if (elementsOf(sizes) != static_cast<int64_t>(elements.size()))
    refuse("a constant of [{}] has {} elements", fmt::join(sizes, ", "),
           elements.size());
  if (elements.empty())
    return filled(type, std::move(sizes), 0);
  Constant out;
  out.elementType = type;
  out.strides = rowMajor(sizes);
  out.extents = std::move(sizes);
  out.data = std::make_shared<std::vector<double>>(std::move(elements));
  return out.compressed();
}

static int64_t countOf(const Sizes &sizes) {
  int64_t count = elementsOf(sizes);
  if (count > mostElements)
    refuse("a constant of [{}] elements is needed whole, and is too large",
           fmt::join(sizes, ", "));
  return count;
}

ConstantPtr
Constant::evaluated(ScalarType type, Sizes sizes,
                    const std::function<double(const Sizes &)> &element) {
  std::vector<double> all;
  all.reserve(countOf(sizes));
  forEachPosition(sizes, [&](const Sizes &position) {
    all.push_back(rounded(element(position), type));
  });
  return dense(type, std::move(sizes), std::move(all));
}

/// The same elements, without strides along dimensions where all are equal.
ConstantPtr Constant::compressed() const {
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  const std::vector<double> &all = *data;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    int64_t stride = strides[dim], size = extents[dim];
    bool isEqual = true;
    for (size_t i = 0; isEqual && i < all.size(); ++i) {
      int64_t at = static_cast<int64_t>(i) / stride % size;
      double first = all[i - static_cast<size_t>(at * stride)];
      isEqual = all[i] == first || (std::isnan(all[i]) && std::isnan(first));
    }
    if (isEqual)
      out->strides[dim] = 0;
  }
  return out;
}

bool Constant::varies(size_t dim) const {
  if (extents[dim] == 1)
    return false;
  if (!isDeferred())
    return strides[dim] != 0;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const auto &one) { return one->varies(dim); });
}

double Constant::at(const Sizes &position) const {
  if (isDeferred()) {
    std::vector<double> values;
    for (const ConstantPtr &operand : operands)
      values.push_back(operand->at(position));
    return rounded(formula(values), elementType);
  }
  int64_t place = offset;
  for (size_t i = 0; i < position.size(); ++i)
    place += position[i] * strides[i];
  return data->at(place);
}

std::vector<double> Constant::elements() const {
  std::vector<double> all;
  all.reserve(countOf(extents));
  forEachPosition(extents,
                  [&](const Sizes &position) { all.push_back(at(position)); });
  return all;
}

/// How many elements may differ.
static int64_t variety(const Constant &constant) {
  Sizes sizes;
  for (size_t i = 0; i < constant.sizes().size(); ++i)
    if (constant.varies(i))
      sizes.push_back(constant.sizes()[i]);
  return elementsOf(sizes);
}

ConstantPtr Constant::apply(const std::string &name, const Formula &formula,
                            ScalarType type,
                            const std::vector<ConstantPtr> &operands) {
  std::vector<Sizes> all;
  for (const ConstantPtr &operand : operands)
    all.push_back(operand->sizes());
  auto out = std::shared_ptr<Constant>(new Constant());
  out->elementType = type;
  out->extents = broadcastSizes(all);
  out->name = name;
  out->formula = formula;
  out->work = 1;
  int64_t largest = mostEvaluated;
  for (const ConstantPtr &operand : operands) {
    out->work += operand->work;
    out->operands.push_back(operand->expanded(out->extents));
    if (!operand->isDeferred())
      largest = std::max(largest, variety(*operand));
  }
  if (variety(*out) > largest && out->work <= mostWork)
    return out;
  Sizes differing = out->extents;
  for (size_t i = 0; i < differing.size(); ++i)
    if (!out->varies(i))
      differing[i] = 1;
  std::vector<double> values(operands.size());
  auto element = [&](const Sizes &position) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = out->operands[i]->at(position);
    return formula(values);
  };
  return evaluated(type, differing, element)->expanded(out->extents);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

template <typename View> ConstantPtr Constant::ofParts(View view) const {
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  for (ConstantPtr &operand : out->operands)
    operand = view(*operand);
  out->extents = out->operands.front()->sizes();
  return out;
}

ConstantPtr Constant::expanded(const Sizes &sizes) const {
  if (sizes == extents)
    return shared_from_this();
  if (isDeferred())
    return ofParts([&](const Constant &one) { return one.expanded(sizes); });
  if (sizes.size() < extents.size())
    refuse("a tensor of [{}] is expanded to [{}]", fmt::join(extents, ", "),
           fmt::join(sizes, ", "));
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  size_t more = sizes.size() - extents.size();
  out->extents = sizes;
  out->strides.assign(sizes.size(), 0);
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] != 1 && extents[i] != sizes[more + i])
      refuse("a tensor of [{}] is expanded to [{}]", fmt::join(extents, ", "),
             fmt::join(sizes, ", "));
    out->strides[more + i] = extents[i] == 1 ? 0 : strides[i];
  }
  return out;
}

ConstantPtr Constant::permuted(const std::vector<size_t> &dims) const {
  if (isDeferred())
    return ofParts([&](const Constant &one) { return one.permuted(dims); });
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  for (size_t i = 0; i < dims.size(); ++i) {
    out->extents[i] = extents.at(dims[i]);
    out->strides[i] = strides.at(dims[i]);
  }
  return out;
}

ConstantPtr Constant::unsqueezed(size_t dim) const {
  if (isDeferred())
    return ofParts([&](const Constant &one) { return one.unsqueezed(dim); });
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  out->extents.insert(out->extents.begin() + dim, 1);
  out->strides.insert(out->strides.begin() + dim, 0);
  return out;
}

ConstantPtr Constant::selected(size_t dim, int64_t position) const {
  if (isDeferred())
    return ofParts(
        [&](const Constant &one) { return one.selected(dim, position); });
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  out->offset += strides[dim] * position;
  out->extents.erase(out->extents.begin() + dim);
  out->strides.erase(out->strides.begin() + dim);
  return out;
}

ConstantPtr Constant::sliced(size_t dim, int64_t begin, int64_t count,
                             int64_t step) const {
  if (isDeferred())
    return ofParts([&](const Constant &one) {
      return one.sliced(dim, begin, count, step);
    });
  auto out = std::shared_ptr<Constant>(new Constant(*this));
  out->offset += strides[dim] * begin;
  out->extents[dim] = count;
  out->strides[dim] *= step;
  return out;
}

ConstantPtr Constant::reshaped(const Sizes &sizes) const {
  if (elementsOf(sizes) != elementsOf(extents))
    refuse("a tensor of [{}] is viewed as [{}]", fmt::join(extents, ", "),
           fmt::join(sizes, ", "));
  if (sizes == extents)
    return shared_from_this();
  if (std::none_of(strides.begin(), strides.end(),
                   [](int64_t stride) { return stride != 0; }) &&
      !isDeferred())
    return filled(elementType, sizes, at(Sizes(extents.size(), 0)));
  return dense(elementType, sizes, elements());
}

ConstantPtr Constant::converted(ScalarType type) const {
  if (type == elementType)
    return shared_from_this();
  auto same = [](const std::vector<double> &x) { return x[0]; };
  return apply("convert", same, type, {shared_from_this()});
}
