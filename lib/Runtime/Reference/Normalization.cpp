//===- Normalization.cpp - softmax and normalisations ---------------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The softmax of the first `visible` of `length` elements; zeros follow.
static void softmaxRow(double *row, int64_t length, int64_t visible,
                       double scale) {
  double most = -std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < visible; ++i)
    most = std::max(most, row[i] *= scale);
  double sum = 0;
  for (int64_t i = 0; i < visible; ++i)
    sum += row[i] = std::exp(row[i] - most);
  for (int64_t i = 0; i < visible; ++i)
    row[i] /= sum;
  std::fill(row + visible, row + length, 0.0);
}

Tensor softmax(const Tensor &x, const std::string &index, double scale,
               const std::optional<std::string> &causalQueryIndex,
               std::string *error) {
  const IndexNames rows = without(x.indices, {index});
  if (!contains(x.indices, index) || !areDistinct(x.indices))
    return fail(error, "softmax: no single index '" + index + "' in " +
                           toString(x.indices));
  if (causalQueryIndex && !contains(rows, *causalQueryIndex))
    return fail(error, "softmax: no query index '" + *causalQueryIndex +
                           "' in " + toString(rows));
  Tensor y = permute(x, concat(rows, {index}), error);
  if (y.data.empty())
    return y.isValid() ? x : y;

  const int64_t length = y.shape.back();
  // The position along the query index is (row / queryStride) % queries.
  const int64_t queries = causalQueryIndex ? *y.extent(*causalQueryIndex) : 1;
  const int64_t queryStride =
      causalQueryIndex ? strideAlong(y, *causalQueryIndex) / length : 1;
  constexpr int64_t kCostPerElement = 8;
  detail::parallelFor(
      y.data.size() / length, length * kCostPerElement,
      [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const int64_t query = row / queryStride % queries;
          const int64_t visible =
              causalQueryIndex ? std::min(length, query + 1) : length;
          softmaxRow(&y.data[row * length], length, visible, scale);
        }
      });
  return y.indices == x.indices ? y : permute(y, x.indices, error);
}

//===----------------------------------------------------------------------===//
// Layer and root-mean-square normalisation
//===----------------------------------------------------------------------===//

/// Why x cannot be normalised over the indices, or an empty string.
static std::string cannotNormalize(const Tensor &x, const IndexNames &indices) {
  if (!x.isValid())
    return "invalid operand";
  if (!areDistinct(x.indices) || !areDistinct(indices) ||
      within(indices, x.indices).size() != indices.size())
    return toString(x.indices) + " cannot be normalised over " +
           toString(indices);
  return "";
}

/// The mean of x over the indices.
static Tensor meanOver(const Tensor &x, const IndexNames &indices) {
  Tensor mean = reduceSum(x, without(x.indices, indices));
  const double ratio = double(mean.data.size()) / double(x.data.size());
  for (double &value : mean.data)
    value *= ratio;
  return mean;
}

/// x / sqrt(mean(x^2) + eps).
static Tensor divideByRootMeanSquare(const Tensor &x, const IndexNames &indices,
                                     double eps) {
  const Tensor squares = pointwise(
      [](const double *value) { return *value * *value; }, {&x}, x.indices);
  Tensor factor = meanOver(squares, indices);
  for (double &value : factor.data)
    value = 1 / std::sqrt(value + eps);
  return pointwise([](const double *v) { return v[0] * v[1]; }, {&x, &factor},
                   x.indices, x.shape);
}

/// gain * x + bias, either of which may be null.
static Tensor applyAffine(Tensor x, const Tensor *gain, const Tensor *bias,
                          std::string *error) {
  if (gain)
    x = pointwise([](const double *v) { return v[0] * v[1]; }, {&x, gain},
                  x.indices, x.shape, error);
  if (bias)
    x = pointwise([](const double *v) { return v[0] + v[1]; }, {&x, bias},
                  x.indices, x.shape, error);
  return x;
}

Tensor layerNorm(const Tensor &x, const Tensor *gain, const Tensor *bias,
                 const IndexNames &indices, double eps, std::string *error) {
  const std::string reason = cannotNormalize(x, indices);
  if (!reason.empty())
    return fail(error, "layerNorm: " + reason);
  const Tensor mean = meanOver(x, indices);
  const Tensor centered = pointwise([](const double *v) { return v[0] - v[1]; },
                                    {&x, &mean}, x.indices, x.shape);
  return applyAffine(divideByRootMeanSquare(centered, indices, eps), gain, bias,
                     error);
}

Tensor rmsNorm(const Tensor &x, const Tensor *gain, const IndexNames &indices,
               double eps, std::string *error) {
  const std::string reason = cannotNormalize(x, indices);
  if (!reason.empty())
    return fail(error, "rmsNorm: " + reason);
  return applyAffine(divideByRootMeanSquare(x, indices, eps), gain, nullptr,
                     error);
}

} // namespace tpsp::reference
