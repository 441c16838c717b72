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
};

/// Compares one tensor of a world, on every rank, with its whole reference
/// values (row-major). Every replica counts: the worst rank is reported.
/// Partial tensors are added up first.
Status compareTensor(World &world, const Manifest &manifest,
                     const ManifestTensor &tensor,
                     const std::vector<double> &reference, TensorError &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_COMPARISON_H
