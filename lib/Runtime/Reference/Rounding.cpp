//===- Rounding.cpp - to the numbers of narrower types --------------------===//

#include "Evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tpsp::reference {

namespace {

/// Binary floating-point numbers of a type.
struct Format {
  /// Of the significand, the leading one included.
  int digits;
  /// Of the smallest normal number.
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

} // namespace tpsp::reference
