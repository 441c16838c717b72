/// A world's results against a reference.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_H

#include "tpsp/Runtime/Driver/Shard.h"
#include "tpsp/Runtime/World.h"

namespace tpsp::rt {

struct TensorError {
  std::string name;
  /// ||a - b|| / ||b|| with b the reference (||a|| if b is 0), over all
  /// elements of the worst rank; infinite if a value is not finite where it
  /// should be.
  double relative = 0;
  /// The same, over the same elements, of the unsharded program in the run's
  /// own types, as the reference rounds it: what rounding alone makes. Of a few
  /// elements (`elementsToJudgeAlone`) it is at least what rounding makes of so
  /// few of the tensor's elements at most.
  double rounding = 0;
  /// The largest relative error that a right program may have: the tolerance,
  /// or `roundingFactor` times `rounding`, whichever is more.
  double allowed = 0;
  double maxAbsolute = 0;
  /// Root mean squares of the difference, of the reference's own rounding, and
  /// of the reference.
  double rmsError = 0, rmsRounding = 0, rmsReference = 0;
  /// Those of the worst rank.
  int64_t elements = 0;
  /// Elements that are infinite or NaN, as the reference or its rounding is.
  int64_t notFinite = 0;
  /// The reference is zero but for rounding: errors are relative to the largest
  /// result (rescaleZeros).
  bool zeroReference = false;

  bool passed() const { return relative <= allowed; }
  /// Whether rounding alone leaves next to no digits, so that the run's type
  /// decides nothing.
  bool isLost() const { return !zeroReference && allowed > 0.5; }
};

/// A result's whole values, row-major.
struct ExpectedValues {
  std::vector<double> exact;
  /// In the run's own types; empty if that is not known.
  std::vector<double> rounded;
};

/// How many times the rounding a run may be off by: it sums in other orders,
/// and in f32. The rounding is that of the reference, which rounds every stored
/// value once.
inline constexpr double roundingFactor = 8;

/// From this many elements on a shard is judged by its own rounding alone. One
/// of fewer may round well by chance, which says nothing of the run. If that is
/// more, it may be off by what so few of its tensor's elements are off by at
/// most.
inline constexpr int64_t elementsToJudgeAlone = 16;

/// Compares one tensor of a world, on every rank, with its whole values. Every
/// replica counts: the worst rank is reported, that is, the one that exceeds
/// what it is allowed by the most. Rounding weighs on every shard as it does on
/// the reference's same elements, so finer sharding is not judged harder.
/// Partial tensors are added up first. If there are several processes, that
/// with rank 0 needs `expected` and gets `out`.
Status compareTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                     const ExpectedValues &expected, double tolerance,
                     TensorError &out);

/// A tensor's whole values (row-major), from the first rank that holds each
/// part. Of a partial tensor they are the sum of the ranks' summands, or their
/// maximum, in the order of the ranks. Of several processes that with rank 0
/// gets them.
Status gatherTensor(World &world, const Plan &plan, const PlanBuffer &tensor,
                    std::vector<double> &out);

/// A result that is exactly zero in mathematics is rounding noise in the
/// reference, too: the gradient of a key's bias under softmax. No error
/// relative to noise means anything. Where a reference's rms is below 1e-9 of
/// the largest result's, errors are taken relative to the latter.
void rescaleZeros(std::vector<TensorError> &errors, double tolerance);

/// Measures the rounding of these results over all of them, if that is more
/// than their own. New parameters need it. Rounding turns a step by a sign
/// (Lion's, AdamW's first) over in a few elements of all. By chance it does in
/// none of a small tensor's.
void poolRounding(const std::vector<TensorError *> &errors, double tolerance);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_H
