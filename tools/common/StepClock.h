// The duration of a step, measured by the ranks that run it.
#ifndef TPSP_TOOLS_COMMON_STEPCLOCK_H
#define TPSP_TOOLS_COMMON_STEPCLOCK_H

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

namespace tpsp::tool {

/// Each rank of this process records, on its own thread, when it begins and
/// ends a step. So the time excludes waking the ranks' threads and their waking
/// the caller.
class StepClock {
public:
  explicit StepClock(int64_t ranks) : ranks(ranks) {}

  void begin(int64_t rank) { ranks[rank] = {Clock::now(), {}, 0}; }
  void end(int64_t rank) { ranks[rank].end = Clock::now(); }
  /// Records how long the GPU took to run the step; called before end().
  void ranOnGpu(int64_t rank, double seconds) { ranks[rank].gpu = seconds; }

  /// Seconds of the last step, from the first rank's begin to the last rank's
  /// end.
  double seconds() const {
    Clock::time_point begin = Clock::time_point::max(), end;
    for (const Times &rank : ranks) {
      if (rank.end == Clock::time_point())
        continue; // a rank of another process
      begin = std::min(begin, rank.begin);
      end = std::max(end, rank.end);
    }
    return std::chrono::duration<double>(end - begin).count();
  }
  /// Seconds of the slowest GPU; 0 if none reported.
  double gpuSeconds() const {
    double longest = 0;
    for (const Times &rank : ranks)
      longest = std::max(longest, rank.gpu);
    return longest;
  }

private:
  using Clock = std::chrono::steady_clock;
  struct Times {
    Clock::time_point begin, end;
    double gpu = 0;
  };
  std::vector<Times> ranks;
};

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_STEPCLOCK_H
