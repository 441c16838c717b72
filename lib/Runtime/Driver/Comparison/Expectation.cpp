#include "Expectation.h"

#include <algorithm>
#include <array>
#include <cmath>

using namespace tpsp::rt;

namespace {

/// The binary orders of magnitude that separate groups of elements. An error
/// of 1 % in the smaller ones is then within the tolerance of the larger.
/// With few digits every tensor has such elements, so there are at least 6.
int gapFor(double tolerance) {
  return std::max(6, int(std::ceil(std::log2(1e-2 / tolerance))));
}

} // namespace

Expectation::Expectation(const ExpectedValues &values, double tolerance)
    : values(values) {
  double largest = 0;
  hasFinite = std::any_of(values.exact.begin(), values.exact.end(),
                          [](double x) { return std::isfinite(x); });
  for (double x : values.exact)
    if (std::isfinite(x))
      largest = std::max(largest, std::abs(x));
  if (largest > 0)
    scale = std::ldexp(1.0, -std::ilogb(largest));
  rmsOfRounding = rmsOff(values.exact, 0);
  if (!values.rounded.empty())
    rmsOfSpread = rmsOff(values.rounded.front(), 1);
  findSmall(largest, tolerance);
  factor = roundingFactorOf(
      static_cast<int64_t>(values.exact.size() * values.rounded.size()));
}

int64_t Expectation::groupOf(double x) const {
  auto found = std::find_if(
      small.rbegin(), small.rend(), [&](const SmallElements &group) {
        return x == 0 ? group.hasZeros : std::abs(x) < group.below;
      });
  return small.rend() - found - 1;
}

void Expectation::findSmall(double largest, double tolerance) {
  constexpr int least = -1074, most = 1023; // of f64
  std::array<int64_t, most - least + 1> counts{};
  int64_t left = 0;
  for (double x : values.exact)
    if (std::isfinite(x) && x != 0) {
      ++counts[std::ilogb(x) - least];
      ++left;
    }
  int before = left > 0 ? std::ilogb(largest) : least;
  bool hasTiny = false;
  for (int order = before; left > 0; --order) {
    int64_t count = counts[order - least];
    if (count == 0)
      continue;
    double below = std::ldexp(1.0, order + 1);
    bool isApart =
        before - order > gapFor(tolerance) && left >= elementsToJudgeAlone;
    bool isTiny = below <= 1e-12 * largest;
    if (isApart || (isTiny && !hasTiny))
      small.push_back({below, isApart});
    hasTiny |= isTiny;
    before = order;
    left -= count;
  }
  measureSmall();
}

void Expectation::measureSmall() {
  std::vector<double> squared(small.size());
  std::vector<int64_t> counts(small.size());
  for (size_t i = 0; i < values.exact.size() && !small.empty(); ++i)
    if (int64_t group = groupOf(values.exact[i]); group >= 0)
      for (const std::vector<double> &draw : values.rounded)
        if (double off = roundingOf(draw, int64_t(i)); std::isfinite(off)) {
          squared[group] += off * off;
          ++counts[group];
        }
  for (size_t group = 0; group < small.size(); ++group) {
    small[group].rmsOfRounding =
        std::sqrt(squared[group] / double(std::max<int64_t>(counts[group], 1)));
    small[group].factor = roundingFactorOf(counts[group]);
  }
}

double Expectation::rmsOff(const std::vector<double> &center,
                           size_t first) const {
  double squared = 0;
  int64_t count = 0;
  for (size_t d = first; d < values.rounded.size(); ++d)
    for (size_t i = 0; i < center.size(); ++i) {
      double off = (values.rounded[d][i] - center[i]) / values.exaggeration;
      if (!std::isfinite(off))
        continue;
      squared += off * scale * off * scale;
      ++count;
    }
  return std::sqrt(squared / static_cast<double>(std::max<int64_t>(count, 1)));
}
