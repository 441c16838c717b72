#include "LabelPlaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp::planner;

/// The room that a dot needs, and the height of a text over its baseline and
/// below it.
static constexpr double dotRoom = 6, above = 10, below = 3;

bool LabelPlaces::isFree(const LabelBox &box) const {
  if (box.left < frame.left || box.right > frame.right || box.top < frame.top ||
      box.bottom > frame.bottom)
    return false;
  return llvm::none_of(dots,
                       [&](const Dot &dot) {
                         return box.meets({dot.x - dotRoom, dot.x + dotRoom,
                                           dot.y - dotRoom, dot.y + dotRoom});
                       }) &&
         llvm::none_of(taken,
                       [&](const LabelBox &other) { return box.meets(other); });
}

std::optional<LabelPlace> LabelPlaces::take(const Dot &dot, double length) {
  bool isRight = dot.x > (frame.left + frame.right) / 2;
  for (double distance : {9., 22., 36., 52., 70.})
    for (double side : {-1., 1., 0.})
      for (bool isLeft : {isRight, !isRight}) {
        double x = isLeft ? dot.x - distance : dot.x + distance;
        double y = dot.y + side * distance + 4;
        double begin = isLeft ? x - length : x;
        LabelBox box{begin, begin + length, y - above, y + below};
        if (!isFree(box))
          continue;
        taken.push_back(box);
        return LabelPlace{x, y, isLeft, distance > 9};
      }
  return std::nullopt;
}
