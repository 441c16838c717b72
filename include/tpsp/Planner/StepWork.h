/// What a rank does in a step, counted. Of the undivided program it is a
/// yardstick: no division makes less of it, all ranks together.
#ifndef TPSP_PLANNER_STEPWORK_H
#define TPSP_PLANNER_STEPWORK_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace tpsp::planner {

/// Extents of C[m, n] += A[m, k] B[k, n], and how many at once: the smaller of
/// m and n, the larger, k, batch.
using ProductShape = std::array<int64_t, 4>;

/// How long a rank computes: alone, and where a collective runs all the time
/// and keeps some cores. What memory limits takes as long.
struct ComputeSeconds {
  double alone = 0, slowed = 0;

  void add(double times, const ComputeSeconds &other) {
    alone += times * other.alone;
    slowed += times * other.slowed;
  }
  /// Component by component.
  void lowerTo(const ComputeSeconds &other) {
    alone = std::min(alone, other.alone);
    slowed = std::min(slowed, other.slowed);
  }
};

/// What no step is shorter than that computes so much, and whose busiest link
/// is busy for `link` seconds. All that may hide hides. Under what memory
/// limits that takes no time. What cores limit takes `slowdown` times as long
/// then: each second of communication under it costs 1 - 1 / slowdown. The rest
/// is exposed.
inline double leastSeconds(const ComputeSeconds &computing, double link,
                           double slowdown) {
  double byCores =
      slowdown > 1 ? (computing.slowed - computing.alone) / (slowdown - 1) : 0;
  double byMemory = computing.alone - byCores;
  double left = std::max(link - byMemory, 0.0);
  double hidden = std::min(left, slowdown * byCores);
  return computing.alone + hidden * (1 - 1 / slowdown) + (left - hidden);
}

struct StepWork {
  std::map<ProductShape, int64_t> products;
  /// Calls of attention that are no gradient's.
  int64_t attentions = 0;
  /// Of kernels but those of the update: at the machine's best rates, without
  /// launches. Seconds of one core where there are cores; else of the device.
  double kernelSeconds = 0;
  /// Of these, what layers have that it is composed of; 0 if it is not.
  double kernelSecondsOfLayers = 0;
  /// Of these, what works on results of products behind layers: on logits.
  double kernelSecondsBehindLayers = 0;

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
