//===- Rope.cpp - rotary position embedding -------------------------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

namespace {

double slowed(double frequency, const RopeScaling &scaling) {
  double kept = 0;
  if (scaling.trained > 0) {
    const double n = scaling.trained * frequency / (2 * std::acos(-1.0));
    kept =
        scaling.isLogarithmic
            ? std::log(n / scaling.slowTurns) /
                  std::log(scaling.fastTurns / scaling.slowTurns)
            : (n - scaling.slowTurns) / (scaling.fastTurns - scaling.slowTurns);
    kept = std::clamp(kept, 0.0, 1.0);
  }
  return kept * frequency + (1 - kept) * frequency / scaling.stretch;
}

/// The cosines and sines of each position's angles, row-major over (position,
/// m). One entry serves all batches and heads.
struct AngleTable {
  AngleTable(int64_t positions, int64_t half, double theta, bool inverse,
             const RopeScaling &scaling)
      : half(half), cosine(positions * half), sine(positions * half) {
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t m = 0; m < half; ++m) {
        const double angle =
            p * slowed(std::pow(theta, -double(m) / double(half)), scaling);
        cosine[p * half + m] = std::cos(angle);
        sine[p * half + m] = inverse ? -std::sin(angle) : std::sin(angle);
      }
  }

  int64_t half;
  std::vector<double> cosine, sine;
};

/// Swaps the halves (x0, x1) of the feature index and negates the new first
/// half, so that y = x cos + swapHalves(x) sin.
Tensor swapHalves(const Tensor &x, const std::string &featureIndex) {
  const int64_t stride = strideAlong(x, featureIndex);
  const int64_t run = *x.extent(featureIndex) / 2 * stride;
  Tensor swapped{x.indices, x.shape, std::vector<double>(x.data.size())};
  for (size_t i = 0; i < x.data.size(); i += 2 * run)
    for (int64_t j = 0; j < run; ++j) {
      swapped.data[i + j] = -x.data[i + run + j];
      swapped.data[i + run + j] = x.data[i + j];
    }
  return swapped;
}

} // namespace

Tensor rope(const Tensor &x, const std::string &positionIndex,
            const std::string &featureIndex, double theta, bool inverse,
            std::string *error, const RopeScaling &scaling) {
  const std::optional<int64_t> positions = x.extent(positionIndex);
  const std::optional<int64_t> features = x.extent(featureIndex);
  if (!x.isValid() || !areDistinct(x.indices) || !positions || !features ||
      positionIndex == featureIndex || *features % 2 != 0)
    return fail(error, "rope: " + toString(x.indices) + " needs an index '" +
                           positionIndex + "' and an even one '" +
                           featureIndex + "'");
  if (x.data.empty())
    return x;

  const AngleTable table(*positions, *features / 2, theta, inverse, scaling);
  const auto dimension = [&x](const std::string &name) {
    return std::find(x.indices.begin(), x.indices.end(), name) -
           x.indices.begin();
  };
  const auto p = dimension(positionIndex), f = dimension(featureIndex);
  const Tensor swapped = swapHalves(x, featureIndex);
  return pointwiseAt(
      [&](const double *v, const int64_t *at) {
        const int64_t entry = at[p] * table.half + at[f] % table.half;
        return v[0] * table.cosine[entry] + v[1] * table.sine[entry];
      },
      {&x, &swapped}, x.indices, x.shape, error);
}

} // namespace tpsp::reference
