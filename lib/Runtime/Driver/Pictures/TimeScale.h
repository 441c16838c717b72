/// Where times and texts stand in the picture of a step.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMESCALE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMESCALE_H

#include <utility>

namespace tpsp::rt {

namespace frame {
constexpr double width = 960;
/// Where time begins and ends.
constexpr double left = 172, right = 944;
/// At this width on a page of paper, 7 points.
constexpr double textSize = 12;
} // namespace frame

/// From seconds to the picture.
class TimeScale {
public:
  /// `seconds` from the left to the right.
  explicit TimeScale(double seconds);

  double at(double time) const;
  double seconds() const { return length; }
  /// The seconds between two marks of the axis: about eight in all, at round
  /// numbers.
  double tick() const;
  /// The axis's unit, in seconds, and its name.
  std::pair<double, const char *> unit() const;

private:
  double length;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_TIMESCALE_H
