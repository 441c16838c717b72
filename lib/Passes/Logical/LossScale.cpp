#include "LossScale.h"

using namespace mlir;
using namespace tpsp;

std::optional<LossScale> LossScale::read(StringRef text) {
  if (text == "none")
    return LossScale();
  LossScale scale;
  // The largest power of two in f16.
  scale.first = 32768;
  if (text == "dynamic") {
    scale.isDynamic = true;
    return scale;
  }
  scale.isDynamic = text.consume_front("dynamic:");
  if (text.getAsDouble(scale.first) ||
      !(scale.first >= 1 && scale.first <= 0x1p30))
    return std::nullopt;
  return scale;
}

Value tpsp::isFinite(UpdateBuilder &b, Value x) {
  // Infinity minus infinity is NaN, which is not equal to itself.
  Value difference = b.sub(x, x);
  return b.compare(difference, difference, "equal");
}

DynamicScale tpsp::nextScale(UpdateBuilder &b, DynamicScale now, Value isDone,
                             const LossScale &settings) {
  Value none = b.scale(now.goodSteps, 0);
  Value good = b.select(isDone, b.shift(now.goodSteps, 1), none);
  Value isDue =
      b.compare(b.shift(good, -double(settings.window)), none, "greater_equal");
  // A scale beyond the type's range would certainly skip the next step.
  Value fits =
      b.compare(b.shift(now.scale, -settings.most / 2), none, "less_equal");
  Value grown = b.select(b.mul(isDue, fits), b.scale(now.scale, 2), now.scale);
  // A scale below 1 would itself lose small gradients.
  Value least = b.shift(none, 1);
  Value shrunk = b.max(b.scale(now.scale, 0.5), least);
  return {b.select(isDone, grown, shrunk), b.select(isDue, none, good)};
}
