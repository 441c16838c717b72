//===- Softmax.cpp - the softmax ------------------------------------------===//

#include "HiddenScores.h"
#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

/// The softmax of the first `visible` of `length` elements; the others become
/// zeros. If `hides`, a row whose elements are all hidden becomes zeros. A sink
/// of minus infinity is none.
static void softmaxRow(double *row, int64_t length, int64_t visible,
                       double scale, bool hides, double sink) {
  double most = sink;
  for (int64_t i = 0; i < visible; ++i)
    most = std::max(most, row[i] *= scale);
  auto isHidden = [](double x) { return x == hiddenScore; };
  if (hides && std::all_of(row, row + visible, isHidden))
    visible = 0;
  double sum = sink == hiddenScore ? 0 : std::exp(sink - most);
  for (int64_t i = 0; i < visible; ++i)
    sum += row[i] = std::exp(row[i] - most);
  for (int64_t i = 0; i < visible; ++i)
    row[i] /= sum;
  std::fill(row + visible, row + length, 0.0);
}

Tensor softmax(const Tensor &x, const std::string &index, double scale,
               const std::optional<std::string> &causalQueryIndex,
               std::string *error, bool hides, const Tensor *sink) {
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
  Tensor sinks;
  if (sink)
    sinks = pointwise([](const double *s) { return *s; }, {sink}, rows,
                      {y.shape.begin(), y.shape.end() - 1}, error);
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
          softmaxRow(&y.data[row * length], length, visible, scale, hides,
                     sink ? sinks.data[row] : hiddenScore);
        }
      });
  return y.indices == x.indices ? y : permute(y, x.indices, error);
}

} // namespace tpsp::reference
