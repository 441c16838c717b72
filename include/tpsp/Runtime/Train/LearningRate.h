/// Learning rates by step.
#ifndef TPSP_RUNTIME_TRAIN_LEARNINGRATE_H
#define TPSP_RUNTIME_TRAIN_LEARNINGRATE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::train {

/// Over steps 1 .. steps. The rate rises in proportion to the step for `warmup`
/// steps, up to `peak`. Then it is, with t from 0 to 1 over the rest,
///
///   constant              peak
///   warmup-linear         peak + (low - peak) t
///   warmup-cosine         low + (peak - low) (1 + cos(pi t)) / 2
///   warmup-stable-decay   peak until t = 0.8, then linear to `low`
struct LearningRate {
  std::string schedule = "warmup-cosine";
  double peak = 3e-4, low = 3e-5;
  int64_t warmup = 0, steps = 1;

  double at(int64_t step) const;
};

/// The schedules' names.
std::vector<std::string> learningRateSchedules();

} // namespace tpsp::train

#endif // TPSP_RUNTIME_TRAIN_LEARNINGRATE_H
