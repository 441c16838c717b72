/// Interpolates a grid of measured rates, linearly in the logarithms.
#ifndef TPSP_SCHEDULE_GRIDPOSITION_H
#define TPSP_SCHEDULE_GRIDPOSITION_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tpsp {

/// A position on an axis of the grid, between the points `low` and `low + 1`.
/// `share` is 0 at `low` and 1 at `low + 1`; outside the grid it is below 0 or
/// above 1.
struct GridPosition {
  size_t low = 0;
  double share = 0;
};

/// The position of `extent`, above 0, on an ascending axis. On an axis of one
/// point it is always that point.
inline GridPosition positionOn(const std::vector<double> &axis, double extent) {
  if (axis.size() < 2)
    return {};
  auto above = std::upper_bound(axis.begin(), axis.end(), extent);
  size_t high = std::clamp<size_t>(above - axis.begin(), 1, axis.size() - 1);
  double low = axis[high - 1];
  return {high - 1, std::log(extent / low) / std::log(axis[high] / low)};
}

} // namespace tpsp

#endif // TPSP_SCHEDULE_GRIDPOSITION_H
