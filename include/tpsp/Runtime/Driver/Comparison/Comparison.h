/// Compares a world's results with a reference.
///
/// A run is right if it differs from the unsharded program by no more than
/// rounding explains. That amount is measured for each tensor separately. The
/// unsharded program is evaluated again in the run's own types, once rounding
/// to nearest and several times rounding at random (ExpectedValues::rounded).
/// How large other results are does not matter.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/ReferenceProgram.h"
#include "tpsp/Runtime/World.h"

#include <cmath>

namespace tpsp::rt {

struct TensorError {
  /// If rounding explains a larger relative error than this, the tensor has no
  /// correct digits.
  static constexpr double mostWithDigits = 0.5;

  std::string name;
  /// ||a - b|| / ||b|| with b the reference, over all elements of the worst
  /// rank; infinite if a value is not finite where it should be. If
  /// `zeroReference`, the root mean square of a - b.
  double relative = 0;
  /// The same error, over the same elements, of the unsharded program evaluated
  /// in the run's own types. It is the effect of rounding alone, as a root mean
  /// square over the evaluations. For few elements (`elementsToJudgeAlone`) it
  /// is at least the largest error that rounding makes in so few of the
  /// tensor's elements.
  double rounding = 0;
  /// The largest `relative` that a right program may have: the larger of
  /// `tolerance` and `factor` times `rounding`. (If that is more than
  /// `mostWithDigits`, `factor` squared times `rounding`.)
  double allowed = 0;
  /// How much too large a is as a whole: <a - b, b> / <b, b>, which is 0.01 if
  /// a is 1.01 b. Rounding errors scatter, so they add far less to this value
  /// than to `relative`.
  double excess = 0;
  /// The excess that rounding makes, and the largest excess that a right
  /// program may have.
  double excessOfRounding = 0, allowedExcess = 0;
  /// The tolerance of the tensor's type; how many times `rounding` is allowed;
  /// and how many times `excessOfRounding` is allowed.
  double tolerance = 0, factor = 0, excessFactor = 0;
  double maxAbsolute = 0;
  /// Root mean squares of the difference, of the reference's own rounding
  /// error, and of the reference.
  double rmsError = 0, rmsRounding = 0, rmsReference = 0;
  /// The number of elements on the worst rank.
  int64_t elements = 0;
  /// The number of elements that are infinite or NaN, and are so in the
  /// reference or its rounded evaluation too.
  int64_t notFinite = 0;
  /// The reference is zero, up to rounding, so that relative errors mean
  /// nothing: `relative`, `rounding` and `allowed` are absolute.
  bool zeroReference = false;
  /// Rounding leaves no correct digits compared with float64, so `b` is the
  /// unsharded program as the run's types round it (to nearest).
  bool isOfRounded = false;
  /// The error is measured over elements that are orders of magnitude below all
  /// others, such as scores next to a mask's fill. Next to larger elements
  /// their errors would not show.
  bool isOfSmall = false;

  bool passed() const {
    return relative <= allowed && std::abs(excess) <= allowedExcess;
  }
  /// Whether rounding alone leaves almost no correct digits, so that the run's
  /// type decides nothing.
  bool isLost() const { return !zeroReference && allowed > mostWithDigits; }
  /// Whether a value of the run, or its expected value, is infinite or NaN.
  bool hasNotFinite() const { return notFinite > 0 || std::isinf(relative); }
  /// Computes `allowed` and `allowedExcess` from the other fields.
  void allow();
};

/// A result's values, unsharded and row-major.
struct ExpectedValues {
  /// In float64.
  std::vector<double> exact;
  /// In the run's own types: rounded to nearest, then rounded at random several
  /// times. Empty if this is not known, or if nothing rounds.
  std::vector<std::vector<double>> rounded;
  /// The factor by which the errors of `rounded` exceed those of the run's
  /// types. It is above 1 for f64, which is narrowed so that its errors can be
  /// seen at all.
  double exaggeration = 1;

  /// Adds an evaluation in the run's types, which was made with `options`.
  void add(std::vector<double> values,
           const reference::EvaluationOptions &options);
};

/// A mistake that a comparison should detect: every value is multiplied by
/// `factor`, on one rank or, if `rank` is -1, on all.
struct PlantedMistake {
  double factor = 1;
  int64_t rank = -1;
};

/// How many times the measured rounding a run may be off by, because it sums in
/// other orders and in f32. The reference rounds every stored value once.
inline constexpr double roundingFactor = 8;

/// The same factor if rounding is known from only `samples` numbers (elements
/// times evaluations), which may be small by chance. Student's t with that many
/// degrees of freedom exceeds it at most once in 10,000 times.
double roundingFactorOf(int64_t samples);

/// A shard of at least this many elements is judged by its own rounding alone.
/// A smaller shard may round well by chance. So it is also allowed the largest
/// error that rounding makes in equally few elements of its tensor.
inline constexpr int64_t elementsToJudgeAlone = 16;

/// Compares one tensor of a world, on every rank, with its unsharded values.
/// Every replica counts: the reported rank is the one that exceeds its allowed
/// error by the most. A shard is compared with the rounding of the same
/// elements of the reference, so finer sharding is not judged harder. Partial
/// tensors are added up first. `tolerance` is that of the tensor's type. If
/// there are several processes, the one with rank 0 needs `expected` and gets
/// `out`.
Status compareTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                     const ExpectedValues &expected, double tolerance,
                     TensorError &out, const PlantedMistake &planted = {});

/// Raises the rounding of each of these results to the rounding over all of
/// them, except those lost in rounding. New parameters need it. If an update is
/// a sign (Lion's, or AdamW's first), rounding flips it in a few elements of
/// all tensors. A small tensor may by chance have no flipped element.
void poolRounding(const std::vector<TensorError *> &errors);

/// The largest relative error that rounding of stored values of this type
/// explains: 1e-9 for f64, 1e-5 for f32, 2e-2 for bf16, 2.5e-3 for f16.
double toleranceOf(int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H
