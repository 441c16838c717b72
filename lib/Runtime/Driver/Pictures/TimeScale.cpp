#include "TimeScale.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;

/// The least of 1, 2, 5, 10, ... that is not below `step`.
static double roundedUp(double step) {
  double power = std::pow(10, std::floor(std::log10(step)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9))
      return factor * power;
  return 10 * power;
}

TimeScale::TimeScale(double seconds) : length(seconds > 0 ? seconds : 1e-9) {}

double TimeScale::at(double time) const {
  return frame::left +
         (frame::right - frame::left) * std::clamp(time / length, 0.0, 1.0);
}

double TimeScale::tick() const { return roundedUp(length / 8); }

std::pair<double, const char *> TimeScale::unit() const {
  if (length >= 2)
    return {1, "s"};
  if (length >= 2e-3)
    return {1e-3, "ms"};
  return {1e-6, "µs"};
}
