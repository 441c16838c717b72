/// Positions of times and texts in the picture of a step.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMESCALE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMESCALE_H

#include <utility>

namespace tpsp::rt {

namespace frame {
constexpr double width = 960;
/// The x coordinates at which time begins and ends.
constexpr double left = 172, right = 944;
/// This is 7 points if the picture is as wide as a printed page's text.
constexpr double textSize = 12;
} // namespace frame

/// Maps seconds to coordinates of the picture.
class TimeScale {
public:
  /// `seconds` is the time from the left end to the right end.
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
