//===- Permute.cpp - transposes -------------------------------------------===//

#include "Preconditions.h"

#include <algorithm>

namespace tpsp::reference {

/// A tile of this many rows and columns stays in the first-level cache.
static constexpr int64_t kTile = 32;

/// Transposes a tile. `to` is contiguous along the columns, `from` along the
/// rows.
static void copyTile(const double *from, int64_t fromStride, double *to,
                     int64_t toStride, int64_t rows, int64_t columns) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[i * toStride + j] = from[j * fromStride + i];
}

/// Permutes by transposing planes over two indices: the last of x, which is
/// contiguous there, and the last of the result. Tiles matter: a walk in the
/// order of one side touches a cache line per element on the other.
static Tensor transposePlanes(const Tensor &x, const IndexNames &indices,
                              Shape shape) {
  Tensor result{indices, std::move(shape), std::vector<double>(x.data.size())};
  const std::string &row = x.indices.back(), &column = indices.back();
  const IndexNames outer = without(indices, {row, column});
  const Shape from = offsetsOver(x, outer), to = offsetsOver(result, outer);
  const int64_t rows = *x.extent(row), columns = *x.extent(column);
  const int64_t fromStride = strideAlong(x, column);
  const int64_t toStride = strideAlong(result, row);
  const int64_t bands = (rows + kTile - 1) / kTile;

  detail::parallelFor(
      from.size() * bands, kTile * columns, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t i = task % bands * kTile;
          const double *source = &x.data[from[task / bands] + i];
          double *target = &result.data[to[task / bands] + i * toStride];
          for (int64_t j = 0; j < columns; j += kTile)
            copyTile(source + j * fromStride, fromStride, target + j, toStride,
                     std::min(kTile, rows - i), std::min(kTile, columns - j));
        }
      });
  return result;
}

Tensor permute(const Tensor &x, const IndexNames &indices, std::string *error) {
  const IndexNames extra = without(indices, x.indices);
  if (!extra.empty())
    return fail(error, "permute: " + toString(x.indices) + " lacks " +
                           toString(extra));
  const std::optional<Shape> shape = resolveShape({&x}, indices, {}, error);
  if (!shape)
    return {};
  constexpr int64_t kLeastExtent = 4; // Below it a tile is mostly overhead.
  const bool isPlane =
      indices.size() > 1 && indices.size() == x.indices.size() &&
      areDistinct(x.indices) && indices.back() != x.indices.back() &&
      shape->back() >= kLeastExtent && x.shape.back() >= kLeastExtent;
  if (isPlane && !x.data.empty())
    return transposePlanes(x, indices, *shape);
  return pointwise([](const double *value) { return *value; }, {&x}, indices,
                   *shape, error);
}

} // namespace tpsp::reference
