/// Runs of a sequence that repeat themselves, as the layers of a step do.
#ifndef TPSP_SCHEDULE_REPEATEDRUNS_H
#define TPSP_SCHEDULE_REPEATEDRUNS_H

#include <cstdint>
#include <vector>

namespace tpsp {

/// Positions from `begin` to before `end`. From `begin + period` on each item
/// equals that `period` before it.
struct RepeatedRun {
  int64_t begin = 0, end = 0, period = 1;

  int64_t length() const { return end - begin; }
  int64_t repeats() const { return length() / period; }
};

/// Disjoint runs of at least `leastRepeats` periods, in their order. Greedy:
/// from the left, at each position the longest run that begins there, and of
/// equals the one with the shortest period. A period begins with one of the
/// next few occurrences of its first item, so time is linear in the items,
/// times the longest period.
std::vector<RepeatedRun> repeatedRuns(const std::vector<int64_t> &items,
                                      int64_t leastRepeats);

} // namespace tpsp

#endif // TPSP_SCHEDULE_REPEATEDRUNS_H
