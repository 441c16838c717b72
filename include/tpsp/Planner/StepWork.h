/// What a rank does in a step, counted. Of the undivided program it is a
/// yardstick: no division makes less of it, all ranks together.
#ifndef TPSP_PLANNER_STEPWORK_H
#define TPSP_PLANNER_STEPWORK_H

#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace tpsp::planner {

/// Extents of C[m, n] += A[m, k] B[k, n], and how many at once: the smaller of
/// m and n, the larger, k, batch.
using ProductShape = std::array<int64_t, 4>;

struct StepWork {
  std::map<ProductShape, int64_t> products;
  /// Calls of attention that are no gradient's.
  int64_t attentions = 0;
  /// Of kernels but those of the update: at the machine's best rates, without
  /// launches. Seconds of one core where there are cores; else of the device.
  double kernelSeconds = 0;

  /// Adds `times` (`b` - `a`).
  void addDifference(const StepWork &a, const StepWork &b, double times);
};

/// The program on one device, compiled with this rematerialisation.
struct Yardstick {
  std::string rematerialize = "none";
  /// What the backward pass keeps of the forward pass.
  int64_t savedBytes = 0;
  /// Of that, what all layers have, where they are alike and many.
  int64_t savedByLayers = 0;
  StepWork work;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_STEPWORK_H
