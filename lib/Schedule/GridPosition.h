/// Reading off a grid of measured rates, between whose points they are straight
/// in the logarithms.
#ifndef TPSP_SCHEDULE_GRIDPOSITION_H
#define TPSP_SCHEDULE_GRIDPOSITION_H

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tpsp {

/// A position on an axis of the grid: between points `low` and `low + 1`,
/// `share` of the way. Outside the grid `share` is below 0 or above 1.
struct GridPosition {
  size_t low = 0;
  double share = 0;
};

/// Where `extent`, above 0, is on an ascending axis; an axis of one point has
/// only that.
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
