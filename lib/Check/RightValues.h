/// The results of the unsharded program, and how rounding changes them.
#ifndef TPSP_LIB_CHECK_RIGHTVALUES_H
#define TPSP_LIB_CHECK_RIGHTVALUES_H

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <vector>

namespace tpsp::check {

struct RightValues {
  /// The results are listed by their numbers, whole, in f64.
  std::vector<std::vector<double>> results;
  /// The root mean squares of what rounding to the run's type does: of each
  /// result, and of each of its elements.
  std::vector<double> rounding;
  std::vector<std::vector<double>> roundings;
};

/// Evaluates the unsharded program in f64, and rounded to `dtype`. INVALID if
/// that needs more memory than there is.
rt::Status evaluateReference(const rt::PlanDescription &description,
                             const rt::TensorSource &source, int64_t dtype,
                             RightValues &out);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_RIGHTVALUES_H
