/// A world's results against a reference.
///
/// A run is right if it differs from the unsharded program by no more than
/// rounding explains. What rounding explains is measured, for each tensor by
/// itself: the unsharded program is evaluated again in the run's own types,
/// once to the nearest numbers and several times to numbers drawn by chance
/// (ExpectedValues::rounded). How large other results are does not matter.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/ReferenceProgram.h"
#include "tpsp/Runtime/World.h"

#include <cmath>

namespace tpsp::rt {

struct TensorError {
  /// A tensor whose rounding explains a larger relative error has no digits.
  static constexpr double mostWithDigits = 0.5;

  std::string name;
  /// ||a - b|| / ||b|| with b the reference, over all elements of the worst
  /// rank; infinite if a value is not finite where it should be. If
  /// `zeroReference`, the root mean square of a - b.
  double relative = 0;
  /// The same, over the same elements, of the unsharded program in the run's
  /// own types: what rounding alone makes, as a root mean square over the
  /// evaluations. Of a few elements (`elementsToJudgeAlone`) it is at least
  /// what rounding makes of so few of the tensor's elements at most.
  double rounding = 0;
  /// The largest `relative` that a right program may have: `tolerance`, or
  /// `factor` times `rounding`, whichever is more. (If that is more than
  /// `mostWithDigits`, `factor` squared times `rounding`.)
  double allowed = 0;
  /// By how much all of a is too large: <a - b, b> / <b, b>, which is 0.01 if a
  /// is 1.01 b. Rounding scatters, so that it makes far less of this than of
  /// `relative`.
  double excess = 0;
  /// What rounding makes of it, and the largest that a right program may have.
  double excessOfRounding = 0, allowedExcess = 0;
  /// That of the tensor's type, and how many times the rounding, and the excess
  /// of rounding, is allowed.
  double tolerance = 0, factor = 0, excessFactor = 0;
  double maxAbsolute = 0;
  /// Root mean squares of the difference, of the reference's own rounding, and
  /// of the reference.
  double rmsError = 0, rmsRounding = 0, rmsReference = 0;
  /// Those of the worst rank.
  int64_t elements = 0;
  /// Elements that are infinite or NaN, as the reference or its rounding is.
  int64_t notFinite = 0;
  /// The reference is zero, or is but for rounding, so that relative errors
  /// mean nothing: `relative`, `rounding` and `allowed` are absolute.
  bool zeroReference = false;
  /// Rounding leaves no digits of the reference in f64, and `b` is the
  /// unsharded program as the run's types round it (to the nearest).
  bool isOfRounded = false;
  /// The error is that of the elements that are 1e-12 of the largest or less,
  /// beside which nothing of them would show.
  bool isOfSmall = false;

  bool passed() const {
    return relative <= allowed && std::abs(excess) <= allowedExcess;
  }
  /// Whether rounding alone leaves next to no digits, so that the run's type
  /// decides nothing.
  bool isLost() const { return !zeroReference && allowed > mostWithDigits; }
  /// Whether a value of the run, or what it should be, is infinite or a NaN.
  bool hasNotFinite() const { return notFinite > 0 || std::isinf(relative); }
  /// Sets `allowed` and `allowedExcess` to what the other fields make them.
  void allow();
};

/// A result's whole values, row-major.
struct ExpectedValues {
  /// In float64.
  std::vector<double> exact;
  /// In the run's own types: to the nearest numbers, then draws of rounding by
  /// chance. Empty if that is not known, or nothing rounds.
  std::vector<std::vector<double>> rounded;
  /// `rounded` is off by so many times what the run's types make (f64 is
  /// narrowed to show anything).
  double exaggeration = 1;

  /// Adds an evaluation in the run's types, which `options` asked for.
  void add(std::vector<double> values,
           const reference::EvaluationOptions &options);
};

/// A mistake that a comparison is to see: every value times `factor`, on one
/// rank or, if `rank` is -1, on all.
struct PlantedMistake {
  double factor = 1;
  int64_t rank = -1;
};

/// How many times the rounding a run may be off by: it sums in other orders,
/// and in f32. The rounding is that of the reference, which rounds every stored
/// value once.
inline constexpr double roundingFactor = 8;

/// The same where only so many numbers tell of the rounding: elements times
/// evaluations. Few may be small by chance. Student's t of so many degrees of
/// freedom exceeds it once in 10,000 times, or less often.
double roundingFactorOf(int64_t samples);

/// From this many elements on a shard is judged by its own rounding alone. One
/// of fewer may round well by chance, which says nothing of the run. If that is
/// more, it may be off by what so few of its tensor's elements are off by at
/// most.
inline constexpr int64_t elementsToJudgeAlone = 16;

/// Compares one tensor of a world, on every rank, with its whole values. Every
/// replica counts: the worst rank is reported, that is, the one that exceeds
/// what it is allowed by the most. Rounding weighs on every shard as it does on
/// the reference's same elements, so finer sharding is not judged harder.
/// Partial tensors are added up first. `tolerance`: of the tensor's type. If
/// there are several processes, that with rank 0 needs `expected` and gets
/// `out`.
Status compareTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                     const ExpectedValues &expected, double tolerance,
                     TensorError &out, const PlantedMistake &planted = {});

/// Measures the rounding of these results over all of them that are not lost in
/// it, if that is more than their own. New parameters need it. Rounding turns a
/// step by a sign (Lion's, AdamW's first) over in a few elements of all. By
/// chance it does in none of a small tensor's.
void poolRounding(const std::vector<TensorError *> &errors);

/// The largest relative error that rounding of stored values of this type
/// explains: 1e-9 for f64, 1e-5 for f32, 2e-2 for bf16, 2.5e-3 for f16.
double toleranceOf(int64_t dtype);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_COMPARISON_H
