/// The norm of all gradients of parameters, from the squares of each.
#ifndef TPSP_CHECK_GRADIENTNORM_H
#define TPSP_CHECK_GRADIENTNORM_H

#include "tpsp/Check/Check.h"

#include <set>
#include <vector>

namespace tpsp::check {

/// Sums of squares of the gradients of parameters. Those of a program's layers
/// may be added up one after another.
struct GradientSquares {
  /// Every element once.
  double all = 0;
  /// Each rank's own parts.
  RankValues own;
  /// The same as `all`, for each rounded evaluation.
  std::vector<double> rounded;
  /// The axes that divide one of them at least.
  std::set<int64_t> dividing;

  void add(const GradientSquares &other);
};

/// Judges a dumped norm. The plan is that of the program, or of one of its
/// parts. `scale` may explain a factor.
TensorVerdict judgeNorm(const DumpEntry &entry, const Plan &plan,
                        const rt::RankMesh &mesh,
                        const GradientSquares &squares, double scale);

} // namespace tpsp::check

#endif // TPSP_CHECK_GRADIENTNORM_H
