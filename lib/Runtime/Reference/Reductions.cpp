//===- Reductions.cpp - sums and maxima over indices ----------------------===//

#include "Preconditions.h"

#include <numeric>

namespace tpsp::reference {

/// Applies `reduceRow(first, last)` to the elements along the indices that the
/// result lacks. They are made contiguous first, by a transpose if necessary.
template <class F>
static Tensor reduce(const Tensor &x, const IndexNames &resultIndices,
                     F reduceRow, std::string *error) {
  std::optional<Shape> shape = resolveShape({&x}, resultIndices, {}, error);
  if (!shape)
    return {};
  const IndexNames order =
      concat(resultIndices, without(x.indices, resultIndices));
  Tensor transposed;
  if (order != x.indices) {
    transposed = permute(x, order, error);
    if (!transposed.isValid())
      return {};
  }
  const Tensor &packed = order == x.indices ? x : transposed;

  Tensor result{resultIndices, *shape,
                std::vector<double>(elementCount(*shape))};
  if (result.data.empty())
    return result;
  const int64_t length = packed.data.size() / result.data.size();
  detail::parallelFor(result.data.size(), length,
                      [&](int64_t begin, int64_t end) {
                        const double *row = packed.data.data() + begin * length;
                        for (int64_t i = begin; i < end; ++i, row += length)
                          result.data[i] = reduceRow(row, row + length);
                      });
  return result;
}

Tensor reduceSum(const Tensor &x, const IndexNames &resultIndices,
                 std::string *error) {
  return reduce(
      x, resultIndices,
      [](const double *first, const double *last) {
        return std::accumulate(first, last, 0.0);
      },
      error);
}

Tensor reduceMax(const Tensor &x, const IndexNames &resultIndices,
                 std::string *error) {
  return reduce(
      x, resultIndices,
      [](const double *first, const double *last) {
        double most = -std::numeric_limits<double>::infinity();
        for (; first != last; ++first)
          if (*first > most || std::isnan(*first))
            most = *first; // A NaN stays: nothing compares greater.
        return most;
      },
      error);
}

} // namespace tpsp::reference
