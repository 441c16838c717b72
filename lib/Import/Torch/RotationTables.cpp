#include "RotationTables.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace tpsp::import;
using namespace tpsp::import::torch;

static constexpr double circle = 6.283185307179586;

/// Half a unit in the last place of 1: how much rounding moves a number.
static double roundingOf(ScalarType type) {
  if (type == ScalarType::BF16)
    return std::ldexp(1, -9);
  return type == ScalarType::F16 ? std::ldexp(1, -12) : 0;
}

/// The number of `digits` digits next to it.
static double withDigits(double number, int digits) {
  double unit = std::pow(10, std::floor(std::log10(number)) - (digits - 1));
  return std::round(number / unit) * unit;
}

/// YaRN's factor of all elements.
static double yarnMagnitude(double stretch) {
  return 0.1 * std::log(stretch) + 1;
}

namespace {

class Tables {
public:
  Tables(const Constant &cosines, const Constant &sines)
      : cosines(cosines), sines(sines), positions(cosines.sizes()[0]),
        half(cosines.sizes()[1] / 2),
        rounding(
            std::max(roundingOf(cosines.type()), roundingOf(sines.type()))) {}

  std::optional<Frequencies> fitted();

private:
  /// Radians a position.
  double measured(int64_t pair) const;
  std::optional<Frequencies> withRamp(Frequencies whole,
                                      bool isLogarithmic) const;
  std::optional<Frequencies> written(const Frequencies &exact) const;
  bool agrees(const Frequencies &found) const;
  bool agreesAt(const Frequencies &found, const std::vector<double> &turns,
                int64_t position) const;
  double natural(double theta, int64_t pair) const {
    return std::pow(theta,
                    -static_cast<double>(pair) / static_cast<double>(half));
  }
  double expected(const Frequencies &found, int64_t pair) const;

  const Constant &cosines, &sines;
  int64_t positions, half;
  /// How much rounding to the elements' type moves 1.
  double rounding, magnitude = 1;
  std::vector<double> frequencies;
};

} // namespace

/// Twice as many positions halve the error, so that rounded tables do.
double Tables::measured(int64_t pair) const {
  double frequency = 0;
  for (int64_t position = 1; position < positions; position *= 2) {
    auto turns = static_cast<double>(position);
    double angle =
        std::atan2(sines.at({position, pair}), cosines.at({position, pair}));
    frequency += std::remainder(angle - frequency * turns, circle) / turns;
  }
  return frequency;
}

double Tables::expected(const Frequencies &found, int64_t pair) const {
  double frequency = natural(found.theta, pair), kept = 0;
  if (found.trained > 0) {
    double turns = found.trained * frequency / circle;
    kept = found.isLogarithmic ? std::log(turns / found.slowTurns) /
                                     std::log(found.fastTurns / found.slowTurns)
                               : (turns - found.slowTurns) /
                                     (found.fastTurns - found.slowTurns);
    kept = std::clamp(kept, 0.0, 1.0);
  }
  return frequency * (kept + (1 - kept) / found.stretch);
}

bool Tables::agreesAt(const Frequencies &found,
                      const std::vector<double> &turns,
                      int64_t position) const {
  for (int64_t feature = 0; feature < 2 * half; ++feature) {
    double turn = static_cast<double>(position) * turns[feature % half];
    double allowed = found.magnitude * (1e-6 + 1e-6 * turn + 2 * rounding);
    if (std::abs(cosines.at({position, feature}) -
                 found.magnitude * std::cos(turn)) > allowed ||
        std::abs(sines.at({position, feature}) -
                 found.magnitude * std::sin(turn)) > allowed)
      return false;
  }
  return true;
}

bool Tables::agrees(const Frequencies &found) const {
  std::vector<double> turns;
  for (int64_t pair = 0; pair < half; ++pair)
    turns.push_back(expected(found, pair));
  // The last position tells most.
  if (!agreesAt(found, turns, positions - 1))
    return false;
  for (int64_t position = 0; position + 1 < positions; ++position)
    if (!agreesAt(found, turns, position))
      return false;
  return true;
}

/// The frequencies whose share that is kept, from 0 to 1, is linear in the
/// natural frequency, or in its logarithm.
std::optional<Frequencies> Tables::withRamp(Frequencies whole,
                                            bool isLogarithmic) const {
  // The line through the pairs that are in between: least squares.
  double count = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int64_t pair = 0; pair < half; ++pair) {
    double natural = this->natural(whole.theta, pair);
    double kept = (frequencies[pair] / natural - 1 / whole.stretch) /
                  (1 - 1 / whole.stretch);
    if (kept < 0.02 || kept > 0.98)
      continue;
    double along = isLogarithmic ? std::log(natural) : natural;
    ++count, x += along, y += kept, xx += along * along, xy += along * kept;
  }
  double spread = count * xx - x * x;
  if (count < 2 || !(spread > 0))
    return {};
  double slope = (count * xy - x * y) / spread, at0 = (y - slope * x) / count;
  // Only the ratios of the three numbers have a meaning: a pair that turns
  // once while it is trained is the slowest.
  Frequencies out = whole;
  out.isLogarithmic = isLogarithmic;
  out.slowTurns = 1;
  out.fastTurns = isLogarithmic ? std::exp(1 / slope) : 1 - 1 / at0;
  out.trained = circle * (isLogarithmic ? std::exp(at0 / slope)
                                        : slope * (out.fastTurns - 1));
  if (!(slope > 0) || !(out.fastTurns > 1) || !(out.trained > 0) ||
      !std::isfinite(out.trained) || !std::isfinite(out.fastTurns))
    return {};
  if (isLogarithmic && std::abs(yarnMagnitude(out.stretch) - magnitude) <
                           1e-6 + 2 * rounding * magnitude)
    out.magnitude = yarnMagnitude(out.stretch);
  return written(out);
}

/// The ramp with as few digits as agree. Models are mostly trained with a
/// multiple of 256 positions.
std::optional<Frequencies> Tables::written(const Frequencies &exact) const {
  for (int digits : {1, 2, 3, 4, 15}) {
    Frequencies out = exact;
    out.fastTurns = withDigits(exact.fastTurns, digits);
    if (!exact.isLogarithmic)
      out.trained *= (out.fastTurns - 1) / (exact.fastTurns - 1);
    for (double trained : {256 * std::round(out.trained / 256),
                           withDigits(out.trained, digits)}) {
      out.trained = trained;
      if (trained > 0 && agrees(out))
        return out;
    }
  }
  return {};
}

/// Numbers as they were written have few digits. The first that agree with
/// every element are taken.
std::optional<Frequencies> Tables::fitted() {
  magnitude = cosines.at({0, 0});
  if (!(magnitude > 0) || positions < 2 || half < 2)
    return {};
  for (int64_t pair = 0; pair < half; ++pair)
    frequencies.push_back(measured(pair));
  double stretch = 1 / frequencies[0],
         theta = std::pow(frequencies[0] / frequencies[1],
                          static_cast<double>(half)),
         last = natural(theta, half - 1) / frequencies[half - 1];
  if (!(theta > 1) || !std::isfinite(theta) || !(stretch > 0))
    return {};
  for (int digits : {1, 2, 3, 4, 15}) {
    Frequencies found;
    found.magnitude = magnitude;
    found.theta = withDigits(theta, digits);
    found.stretch = withDigits(stretch, digits);
    if (agrees(found))
      return found;
    found.stretch = withDigits(last, digits);
    if (!(found.stretch > 1))
      continue;
    for (bool isLogarithmic : {false, true})
      if (auto ramp = withRamp(found, isLogarithmic))
        return ramp;
  }
  return {};
}

std::optional<Frequencies> torch::frequenciesOf(const Constant &cosines,
                                                const Constant &sines) {
  return Tables(cosines, sines).fitted();
}
