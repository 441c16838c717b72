#include "Slices.h"

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <cmath>

using namespace tpsp;
using namespace tpsp::check;

namespace {

/// Sums of squares over a slice.
struct SliceSums {
  double off = 0, right = 0, rounding = 0;
  int64_t count = 0;
};

} // namespace

static bool isWrong(const SliceSums &slice, const Tolerance &tolerance) {
  if (slice.count < fewestElements)
    return false;
  // Three draws are a small sample of a slice whose elements round together.
  constexpr double share = 0.25;
  double factor = rt::roundingFactorOf(slice.count);
  double rounding = std::max(std::sqrt(slice.rounding / double(slice.count)),
                             share * tolerance.absolute);
  double allowed = factor * rounding * std::sqrt(double(slice.count));
  double off = std::sqrt(slice.off);
  return off > allowed && off > tolerance.relative * std::sqrt(slice.right);
}

std::optional<WrongSlices>
tpsp::check::wrongSlices(const std::vector<double> &values,
                         const std::vector<double> &right,
                         const std::vector<double> &rounding,
                         const Shape &shape, const Tolerance &tolerance) {
  if (values.size() != right.size() || rounding.size() != right.size())
    return std::nullopt;
  std::optional<WrongSlices> found;
  int64_t inner = int64_t(right.size());
  for (size_t dim = 0; dim < shape.size() && inner > 0; ++dim) {
    inner /= shape[dim];
    std::vector<SliceSums> slices(shape[dim]);
    for (size_t i = 0; i < right.size(); ++i) {
      SliceSums &slice = slices[int64_t(i) / inner % shape[dim]];
      double off = values[i] - right[i];
      slice.off += std::isfinite(off) ? off * off : 0;
      slice.right += std::isfinite(right[i]) ? right[i] * right[i] : 0;
      slice.rounding += rounding[i] * rounding[i];
      ++slice.count;
    }
    WrongSlices wrong{dim, {}};
    for (int64_t at = 0; at < shape[dim]; ++at)
      if (isWrong(slices[at], tolerance))
        wrong.positions.push_back(at);
    if (!wrong.positions.empty() &&
        (!found || wrong.positions.size() < found->positions.size()))
      found = std::move(wrong);
  }
  return found;
}
