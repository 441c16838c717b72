#include "tpsp/Runtime/Train/LearningRate.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::train;

namespace {

/// The fraction of the way from `low` to `peak` that is left when the fraction
/// t of the steps after the warmup is done.
struct Schedule {
  const char *name;
  double (*left)(double t);
};

constexpr Schedule schedules[] = {
    {"constant", [](double) { return 1.0; }},
    {"warmup-linear", [](double t) { return 1 - t; }},
    {"warmup-cosine",
     [](double t) { return (1 + std::cos(std::acos(-1.0) * t)) / 2; }},
    {"warmup-stable-decay",
     [](double t) { return t < 0.8 ? 1.0 : (1 - t) / 0.2; }},
};

} // namespace

std::vector<std::string> tpsp::train::learningRateSchedules() {
  std::vector<std::string> names;
  for (const Schedule &schedule : schedules)
    names.push_back(schedule.name);
  return names;
}

double LearningRate::at(int64_t step) const {
  if (step < warmup)
    return peak * double(step) / double(warmup);
  double t =
      double(step - warmup) / double(std::max<int64_t>(1, steps - warmup));
  for (const Schedule &row : schedules)
    if (schedule == row.name)
      return low + (peak - low) * row.left(std::min(t, 1.0));
  return peak;
}
