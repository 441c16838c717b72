/// A world's results against a reference.
#ifndef TPSP_RUNTIME_DRIVER_COMPARISON_H
#define TPSP_RUNTIME_DRIVER_COMPARISON_H

#include "tpsp/Runtime/Driver/Shard.h"
#include "tpsp/Runtime/World.h"

namespace tpsp::rt {

struct TensorError {
  std::string name;
  /// ||a - b|| / ||b|| with b the reference (||a|| if b is 0), over all
  /// elements of the worst rank; infinite if a value is not finite.
  double relative = 0;
  double maxAbsolute = 0;
  /// Root mean squares of the difference and of the reference, of the worst
  /// rank.
  double rmsError = 0, rmsReference = 0;
  /// The reference is zero but for rounding; see rescaleZeros.
  bool zeroReference = false;
};

/// Compares one tensor of a world, on every rank, with its whole reference
/// values (row-major). Every replica counts: the worst rank is reported.
/// Partial tensors are added up first. Of several processes the one with rank 0
/// needs `reference` and gets `out`.
Status compareTensor(World &world, const Manifest &manifest,
                     const ManifestTensor &tensor,
                     const std::vector<double> &reference, TensorError &out);

/// A tensor's whole values (row-major), from the first rank that holds each
/// part; `tensor` is no partial one. Of several processes that with rank 0 gets
/// them.
Status gatherTensor(World &world, const Manifest &manifest,
                    const ManifestTensor &tensor, std::vector<double> &out);

/// A result that is exactly zero in mathematics (the gradient of a key's bias
/// under softmax) is rounding noise in the reference too, and no error relative
/// to noise means anything. Where a reference's rms is below 1e-9 of the
/// largest result's, the error is taken relative to the latter.
void rescaleZeros(std::vector<TensorError> &errors);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_H
