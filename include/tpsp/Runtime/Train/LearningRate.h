/// Learning rates by step.
#ifndef TPSP_RUNTIME_TRAIN_LEARNINGRATE_H
#define TPSP_RUNTIME_TRAIN_LEARNINGRATE_H

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp::train {

/// The learning rate over steps 1 .. steps. For `warmup` steps it rises in
/// proportion to the step, up to `peak`. Over the remaining steps, with t from
/// 0 to 1, it is
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
