//===- Rounding.cpp - to the numbers of narrower types --------------------===//

#include "Evaluation.h"
#include "Preconditions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

namespace tpsp::reference {

namespace {

/// A type of binary floating-point numbers.
struct Format {
  /// Binary digits of the significand, including the leading one.
  int digits;
  double leastNormal, largest;
};

constexpr Format bfloat16{8, 0x1p-126, 0x1.fep127};
constexpr Format binary16{11, 0x1p-14, 65504};
constexpr Format binary32{24, 0x1p-126, 0x1.fffffep127};
/// F64 without its last 13 digits.
constexpr Format narrowed64{53 - digitsOfNarrowing,
                            std::numeric_limits<double>::min(),
                            std::numeric_limits<double>::max()};

const Format *formatOf(Element element, bool narrowsF64) {
  switch (element) {
  case Element::F32:
    return &binary32;
  case Element::BF16:
    return &bfloat16;
  case Element::F16:
    return &binary16;
  case Element::F64:
    return narrowsF64 ? &narrowed64 : nullptr;
  case Element::Integer:
    return nullptr;
  }
  return nullptr;
}

uint64_t bitsOf(double x) {
  uint64_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

double fromBits(uint64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// SplitMix64's output function (Steele, Lea, Flood, OOPSLA 2014).
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Rounds to the nearest number, ties to even.
struct ToNearest {
  /// The number to add to the bits of a number before the last `dropped` bits
  /// are cut.
  uint64_t carry(uint64_t bits, int dropped, uint64_t) const {
    return (uint64_t(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
  }
  double integer(double x, uint64_t) const { return std::nearbyint(x); }
};

/// Rounds away from zero with a probability equal to the dropped digits'
/// fraction of a unit (stochastic rounding: Forsythe, 1950).
struct ByChance {
  uint64_t key;
  uint64_t random(uint64_t i) const { return mixed(key + i); }
  uint64_t carry(uint64_t, int dropped, uint64_t i) const {
    return random(i) & ((uint64_t(1) << dropped) - 1);
  }
  double integer(double x, uint64_t i) const {
    return std::floor(x + static_cast<double>(random(i) >> 11) * 0x1p-53);
  }
};

/// Rounds element `i` of a tensor.
template <typename Way>
double rounded(double x, const Format &format, uint64_t i, const Way &way) {
  if (x == 0 || !std::isfinite(x))
    return x;
  double result;
  if (std::abs(x) < format.leastNormal) {
    double unit = std::ldexp(format.leastNormal, 1 - format.digits);
    result = unit > 0 ? way.integer(x / unit, i) * unit : x;
  } else {
    // A carry out of the significand correctly increases the exponent by one.
    int dropped = 53 - format.digits;
    uint64_t bits = bitsOf(x);
    bits += way.carry(bits, dropped, i);
    result = fromBits(bits >> dropped << dropped);
  }
  if (std::abs(result) > format.largest)
    return std::copysign(std::numeric_limits<double>::infinity(), x);
  return result;
}

template <typename Way>
void roundAll(Tensor &x, const Format &format, const Way &way) {
  constexpr int64_t costPerElement = 2;
  detail::parallelFor(static_cast<int64_t>(x.data.size()), costPerElement,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = begin; i < end; ++i)
                          x.data[i] = rounded(x.data[i], format, i, way);
                      });
}

} // namespace

double Rounder::constant(Element element, double x) const {
  bool isWide = element == Element::F64;
  if (!rounds() || (isWide && !narrowsF64))
    return x;
  return rounded(x, isWide ? narrowed64 : binary32, 0, ToNearest());
}

void Rounder::round(Element element, Tensor &x) const {
  const Format *format = formatOf(element, narrowsF64);
  if (!format)
    return;
  if (draw == 0)
    return roundAll(x, *format, ToNearest());
  roundAll(x, *format, ByChance{mixed(mixed(draw) ^ ++roundedTensors)});
}

namespace {

/// The root of the sum of squares of a factor over the indices that `kept`
/// lacks.
Tensor normOver(const Tensor &factor, const IndexNames &kept) {
  IndexNames all = without(factor.indices, {});
  Tensor squares =
      pointwise([](const double *x) { return *x * *x; }, {&factor}, all);
  Tensor norm = reduceSum(squares, within(all, kept));
  for (double &x : norm.data)
    x = std::sqrt(x);
  return norm;
}

/// The product of the roots of the extents that only one factor has, and
/// whether anything is summed.
std::pair<double, bool> countTerms(const Operands &factors,
                                   const IndexNames &kept) {
  std::map<std::string, std::pair<int64_t, int>> summed;
  for (const Tensor *factor : factors)
    for (const std::string &name : without(factor->indices, kept)) {
      auto &[extent, count] = summed[name];
      extent = *factor->extent(name);
      ++count;
    }
  double root = 1, terms = 1;
  for (const auto &[name, index] : summed) {
    terms *= static_cast<double>(index.first);
    if (index.second == 1)
      root *= std::sqrt(static_cast<double>(index.first));
  }
  return {root, terms > 1};
}

} // namespace

void Rounder::blur(Element element, Tensor &sum,
                   const Operands &factors) const {
  const Format *format = formatOf(element, narrowsF64);
  if (draw == 0 || !rounds() || !format || sum.data.empty())
    return;
  auto [root, isSum] = countTerms(factors, sum.indices);
  bool isReadEarly = factors.size() == 1 && format->digits < binary32.digits;
  if (!isSum && !isReadEarly)
    return;
  std::vector<Tensor> norms;
  for (const Tensor *factor : factors)
    norms.push_back(normOver(*factor, sum.indices));
  Operands operands;
  for (const Tensor &norm : norms)
    operands.push_back(&norm);
  Tensor sizes = pointwise(
      [count = norms.size()](const double *x) {
        return std::accumulate(x, x + count, 1.0, std::multiplies<>());
      },
      operands, sum.indices, sum.shape);
  // A sum is made of several partial sums at once, so each has fewer terms.
  constexpr double share = 0.5;
  int digits = element == Element::F64 ? narrowed64.digits : binary32.digits;
  double unit = isSum ? share * root * std::ldexp(1.0, -digits) : 0;
  // The standard deviation of rounding to the nearest number.
  if (isReadEarly)
    unit = std::hypot(unit, std::ldexp(1.0, -format->digits) / std::sqrt(3.0));
  ByChance chance{mixed(mixed(draw) ^ ++roundedTensors)};
  for (size_t i = 0; i < sum.data.size() && i < sizes.data.size(); ++i) {
    double uniform = static_cast<double>(chance.random(i) >> 11) * 0x1p-52 - 1;
    if (double off = std::sqrt(3.0) * uniform * unit * sizes.data[i];
        std::isfinite(off))
      sum.data[i] += off;
  }
}

namespace {

/// The longest summed index of an einsum, and its extent.
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

/// The indices of a factor that the result or another factor has, too.
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
  if (!rounder.rounds())
    return einsum(factors, indices, shape, &error);
  // Indices that only one factor has are summed first.
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
  auto share = [&, index = index](int64_t begin, int64_t count) {
    std::vector<Tensor> parts(factors.size());
    Operands pointers = factors;
    for (size_t i = 0; i < factors.size(); ++i)
      if (factors[i]->extent(index)) {
        parts[i] = part(*factors[i], index, begin, count, &error);
        pointers[i] = &parts[i];
      }
    return stored(einsum(pointers, indices, shape, &error));
  };
  int64_t count = std::min(rounder.partsOfSum(), extent);
  Tensor total;
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = extent * i / count, end = extent * (i + 1) / count;
    Tensor next = share(begin, end - begin);
    if (i == 0) {
      total = std::move(next);
      continue;
    }
    if (total.data.size() != next.data.size())
      return {};
    for (size_t j = 0; j < total.data.size(); ++j)
      total.data[j] += next.data[j];
  }
  return stored(added(std::move(total), factors));
}

} // namespace tpsp::reference
