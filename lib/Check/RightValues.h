/// The results of the unsharded program, and how rounding changes them.
#ifndef TPSP_LIB_CHECK_RIGHTVALUES_H
#define TPSP_LIB_CHECK_RIGHTVALUES_H

#include "tpsp/Runtime/Driver/Plans/PlanFile.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"

#include <vector>

namespace tpsp::check {

/// The errors that rounding to the run's type makes in a result.
struct ResultRounding {
  /// The root mean square of an element's error.
  double size = 0;
  /// The numbers that it is known from: elements times evaluations. 0 if
  /// nothing rounds.
  int64_t samples = 0;
};

/// The numbers of a sum's summands.
struct Summands {
  std::vector<size_t> results, arguments;
};

struct RightValues {
  /// The results are listed by their numbers, whole, in f64.
  std::vector<std::vector<double>> results;
  std::vector<ResultRounding> rounding;
  /// The same for each element: root mean squares.
  std::vector<std::vector<double>> roundings;
  /// For each rounded evaluation, the sum of squares of each result.
  std::vector<std::vector<double>> roundedSquares;
  /// For each result that is a sum in the program, the results and the
  /// arguments that are its summands.
  std::vector<Summands> summands;
};

/// Evaluates the unsharded program in f64, and rounded to `dtype`.
rt::Status evaluateReference(const rt::PlanDescription &description,
                             const rt::TensorSource &source, int64_t dtype,
                             RightValues &out);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_RIGHTVALUES_H
