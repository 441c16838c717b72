/// Places for the names of dots in a picture, so that no name lies on a dot or
/// on another name.
#ifndef TPSP_PLANNER_LABELPLACES_H
#define TPSP_PLANNER_LABELPLACES_H

#include <optional>
#include <vector>

namespace tpsp::planner {

struct LabelBox {
  double left, right, top, bottom;

  bool meets(const LabelBox &other) const {
    return left < other.right && other.left < right && top < other.bottom &&
           other.top < bottom;
  }
};

struct LabelPlace {
  /// The end of the text's baseline that is near the dot.
  double x = 0, y = 0;
  /// Whether the text ends there, and does not begin.
  bool isLeft = false;
  /// Whether it needs a line to its dot.
  bool isFar = false;
};

class LabelPlaces {
public:
  struct Dot {
    double x, y;
  };

  /// Names stay within the frame.
  LabelPlaces(const LabelBox &frame, std::vector<Dot> dots)
      : frame(frame), dots(std::move(dots)) {}

  /// Keeps names out of the box.
  void block(const LabelBox &box) { taken.push_back(box); }

  /// Takes the first free place around the dot, near places first. Returns
  /// nullopt if all are taken. `length`: the width of the text.
  std::optional<LabelPlace> take(const Dot &dot, double length);

private:
  bool isFree(const LabelBox &box) const;

  LabelBox frame;
  std::vector<Dot> dots;
  std::vector<LabelBox> taken;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_LABELPLACES_H
