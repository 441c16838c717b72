/// How far a prediction is from what the ranks have.
#ifndef TPSP_LIB_CHECK_COMPARE_H
#define TPSP_LIB_CHECK_COMPARE_H

#include "tpsp/Abi/MeshAxis.h"
#include "tpsp/Check/Predictor.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp::check {

/// How much rounding may do to a tensor.
struct Tolerance {
  /// The largest error of a rank's part, as a share of its norm.
  double relative = 1e-5;
  /// The root mean square of what rounding does to one element.
  double absolute = 0;
  /// A larger error than `relative` that rounding explains as well: the tensor
  /// has so few correct digits that such an error decides nothing. 0 if there
  /// is none.
  double undecided = 0;
};

/// The root mean square of each rank's part, as distance() measures it; 0 for
/// ranks without values.
std::vector<double> sizesOfParts(const RankValues &wanted);

/// Sums of squares of a rank's part: of its differences from a target, and of
/// the target.
struct Squares {
  double off = 0, wanted = 0;
};

/// The squares of `values` and of `factor` times `wanted`. If the sizes differ,
/// the difference is infinite.
Squares squaresOf(const std::vector<double> &values,
                  const std::vector<double> &wanted, double factor = 1);

/// The distance by the squares of all ranks that have values.
double distanceOf(const std::vector<Squares> &ranks);

/// The distance of `values` from `factor` times `wanted`. It is the norm of the
/// difference divided by the norm of the target, on the rank where that is
/// largest.
/// Ranks without values are left out. Infinite if the sizes differ, or if one
/// is finite where the other is not.
double distance(const RankValues &values, const RankValues &wanted,
                double factor = 1);

/// The factor that brings `wanted` nearest to `values`; 0 if one is zero.
double nearestFactor(const RankValues &values, const RankValues &wanted);

/// The root mean square over the elements of all ranks.
double rootMeanSquare(const RankValues &values);

/// The number of elements of the ranks that have `values` in which two
/// predictions differ by more than rounding explains.
int64_t distinguishing(const RankValues &values, const RankValues &one,
                       const RankValues &other, const Tolerance &tolerance);

/// The name of the source that is the number of micro-batches.
constexpr const char *microBatchesText = "the number of micro-batches";

/// Sizes that may explain a factor: of axes, and the number of micro-batches.
struct FactorSource {
  std::string name;
  double size = 1;
};

/// Says what the factor is a product or a quotient of: "the size of tp", "1
/// over the sizes of dp and tp", "the micro-batches". None if it is of none.
std::optional<std::string> factorText(double factor,
                                      const std::vector<FactorSource> &sources,
                                      double tolerance);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_COMPARE_H
