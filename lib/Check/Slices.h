/// Finds parts of a tensor that are wrong and too small to show in its norm.
#ifndef TPSP_LIB_CHECK_SLICES_H
#define TPSP_LIB_CHECK_SLICES_H

#include "Compare.h"
#include "Form.h"

#include <optional>

namespace tpsp::check {

constexpr int64_t fewestElements = 4;

/// Positions of one dimension.
struct WrongSlices {
  size_t dim = 0;
  /// Ascending.
  std::vector<int64_t> positions;
};

/// Finds the positions at which a slice's error is neither within the
/// tolerance of the slice's own norm, nor what rounding makes of it.
///
/// `values`, `right` and `rounding` are of a tensor of this shape, row-major;
/// `rounding` has the root mean square of what rounding does to each element.
/// Slices of fewer than fewestElements are not judged: they are too small a
/// sample.
/// Returns the dimension that has the fewest such positions.
std::optional<WrongSlices> wrongSlices(const std::vector<double> &values,
                                       const std::vector<double> &right,
                                       const std::vector<double> &rounding,
                                       const Shape &shape,
                                       const Tolerance &tolerance);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_SLICES_H
