/// The work of a rank in a step, counted. The undivided program's work is a
/// yardstick: over all ranks, no division makes it less.
#ifndef TPSP_PLANNER_STEPWORK_H
#define TPSP_PLANNER_STEPWORK_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>

namespace tpsp::planner {

/// The shape of a product C[m, n] += A[m, k] B[k, n]: the smaller of m and n,
/// the larger, k, and the batch.
using ProductShape = std::array<int64_t, 4>;

/// Seconds for which a rank computes: alone, and if a collective runs all the
/// time and occupies some cores. Work that memory limits takes equally long in
/// both cases.
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

/// The least seconds of a step that computes so much and whose busiest link is
/// busy for `link` seconds. Everything that may hide hides. Hiding under work
/// that memory limits costs nothing. Work that cores limit becomes `slowdown`
/// times slower: each second of communication under it costs 1 - 1 / slowdown
/// seconds. The rest is exposed.
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
  /// The number of forward calls of attention.
  int64_t attentions = 0;
  /// Seconds of all kernels except the update's, at the machine's best rates,
  /// without launches. On a CPU they are seconds of one core, else of the
  /// device.
  double kernelSeconds = 0;
  /// The part in layers from which the step is composed; 0 if it is not
  /// composed.
  double kernelSecondsOfLayers = 0;
  /// The part that works on results of products after the layers: on logits.
  double kernelSecondsBehindLayers = 0;

  /// Adds `times` (`b` - `a`).
  void addDifference(const StepWork &a, const StepWork &b, double times);
};

/// The program on one device, compiled with this rematerialisation.
struct Yardstick {
  std::string rematerialize = "none";
  /// Bytes that the forward pass saves for the backward pass.
  int64_t savedBytes = 0;
  /// The part of savedBytes in all layers, if there are many equal layers.
  int64_t savedByLayers = 0;
  StepWork work;
};

} // namespace tpsp::planner

#endif // TPSP_PLANNER_STEPWORK_H
