/// The expected values of a tensor, and the figures that a comparison needs.
#ifndef TPSP_LIB_RUNTIME_DRIVER_COMPARISON_EXPECTATION_H
#define TPSP_LIB_RUNTIME_DRIVER_COMPARISON_EXPECTATION_H

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <cstdint>
#include <vector>

namespace tpsp::rt {

/// Elements of a tensor that are so much smaller than all others that their
/// errors would not show.
struct SmallElements {
  /// All elements whose magnitude is below this, and whether zeros are among
  /// them.
  double below = 0;
  bool hasZeros = false;
  /// The root mean square of their rounding, scaled, and how many times that is
  /// allowed.
  double rmsOfRounding = 0, factor = roundingFactor;
};

/// A result's expected values, and figures about all of them that a comparison
/// needs.
class Expectation {
public:
  Expectation(const ExpectedValues &values, double tolerance);

  double exact(int64_t i) const { return values.exact[i]; }
  /// The rounding error of element `i` in an evaluation, scaled.
  double roundingOf(const std::vector<double> &draw, int64_t i) const {
    return (draw[i] - values.exact[i]) / values.exaggeration * scale;
  }
  /// The number of the group of small elements to which `x` belongs; -1 if it
  /// belongs to none.
  int64_t groupOf(double x) const;

  const ExpectedValues &values;
  /// A power of two. After multiplication by it, squares neither overflow nor
  /// vanish.
  double scale = 1;
  /// Root mean squares over all elements of the tensor, scaled. The first is of
  /// the evaluations' distance from the f64 values. The second is of the draws'
  /// distance from the values rounded to nearest.
  double rmsOfRounding = 0, rmsOfSpread = 0;
  double factor = roundingFactor;
  /// Whether any element is finite. An infinity then is a value like others.
  bool hasFinite = false;
  /// The groups of small elements, of which each is below the one before.
  std::vector<SmallElements> small;

private:
  /// Finds the gaps in the elements' orders of magnitude. At least 16 elements
  /// must be below a gap, because the smallest of random numbers may be far
  /// apart. Elements below 1e-12 of the largest count in any number.
  void findSmall(double largest, double tolerance);

  /// Sets the rounding of each group of small elements.
  void measureSmall();

  /// The root mean square of the distance of evaluations, from number `first`
  /// on, from `center`.
  double rmsOff(const std::vector<double> &center, size_t first) const;
};

} // namespace tpsp::rt

#endif // TPSP_LIB_RUNTIME_DRIVER_COMPARISON_EXPECTATION_H
