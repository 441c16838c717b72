//===- Rounding.cpp - to the numbers of narrower types --------------------===//

#include "Evaluation.h"
#include "Preconditions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tpsp::reference {

namespace {

/// Binary floating-point numbers of a type.
struct Format {
  /// Binary digits of the significand, the leading one included.
  int digits;
  /// The exponent of the smallest normal number.
  int leastExponent;
  double largest;
};

constexpr Format bfloat16{8, -126, 0x1.fep127};
constexpr Format binary16{11, -14, 65504};

double round(double x, const Format &format) {
  if (x == 0 || !std::isfinite(x))
    return x;
  int exponent = std::max(std::ilogb(x), format.leastExponent);
  double unit = std::ldexp(1.0, exponent - format.digits + 1);
  double rounded = std::nearbyint(x / unit) * unit;
  if (std::abs(rounded) > format.largest)
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return rounded;
}

template <typename F> void forEach(Tensor &x, F f) {
  constexpr int64_t costPerElement = 8;
  detail::parallelFor(static_cast<int64_t>(x.data.size()), costPerElement,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          x.data[i] = f(x.data[i]);
                      });
}

} // namespace

void roundTo(Element element, Tensor &x) {
  switch (element) {
  case Element::F64:
  case Element::Integer:
    return;
  case Element::F32:
    return forEach(
        x, [](double v) { return static_cast<double>(static_cast<float>(v)); });
  case Element::BF16:
    return forEach(x, [](double v) { return round(v, bfloat16); });
  case Element::F16:
    return forEach(x, [](double v) { return round(v, binary16); });
  }
}

namespace {

/// The longest index that an einsum sums over, and its extent.
std::pair<std::string, int64_t> longestSummed(const Operands &factors,
                                              const IndexNames &indices) {
  std::pair<std::string, int64_t> longest{"", 1};
  for (const Tensor *factor : factors)
    for (size_t dim = 0; dim < factor->indices.size(); ++dim)
      if (factor->shape[dim] > longest.second &&
          !contains(indices, factor->indices[dim]))
        longest = {factor->indices[dim], factor->shape[dim]};
  return longest;
}

/// The indices of a factor that the result or another factor has.
IndexNames sharedIndices(const Operands &factors, size_t number,
                         const IndexNames &indices) {
  IndexNames shared;
  for (const std::string &name : factors[number]->indices) {
    bool isShared = contains(indices, name);
    for (size_t other = 0; other < factors.size(); ++other)
      isShared |= other != number && contains(factors[other]->indices, name);
    if (isShared)
      shared.push_back(name);
  }
  return shared;
}

} // namespace

Tensor Evaluation::sum(const Operands &factors, const IndexNames &indices,
                       const Shape &shape) {
  if (arithmetic == Arithmetic::Exact)
    return einsum(factors, indices, shape, &error);
  // What one factor alone is summed over is summed first.
  for (size_t i = 0; factors.size() > 1 && i < factors.size(); ++i) {
    IndexNames kept = sharedIndices(factors, i, indices);
    if (kept.size() == factors[i]->indices.size())
      continue;
    Tensor reduced = sum({factors[i]}, kept, {});
    Operands smaller = factors;
    smaller[i] = &reduced;
    return sum(smaller, indices, shape);
  }
  auto [index, extent] = longestSummed(factors, indices);
  if (extent == 1)
    return stored(einsum(factors, indices, shape, &error));
  auto half = [&, index = index](int64_t begin, int64_t count) {
    std::vector<Tensor> parts(factors.size());
    Operands pointers = factors;
    for (size_t i = 0; i < factors.size(); ++i)
      if (factors[i]->extent(index)) {
        parts[i] = part(*factors[i], index, begin, count, &error);
        pointers[i] = &parts[i];
      }
    return stored(einsum(pointers, indices, shape, &error));
  };
  Tensor first = half(0, extent / 2);
  Tensor second = half(extent / 2, extent - extent / 2);
  if (first.data.size() != second.data.size())
    return {};
  for (size_t i = 0; i < first.data.size(); ++i)
    first.data[i] += second.data[i];
  return stored(std::move(first));
}

} // namespace tpsp::reference
