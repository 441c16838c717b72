/// Runs of a sequence that repeat themselves, as the layers of a step do.
#ifndef TPSP_SCHEDULE_REPEATEDRUNS_H
#define TPSP_SCHEDULE_REPEATEDRUNS_H

#include <cstdint>
#include <vector>

namespace tpsp {

/// Positions from `begin` to before `end`. Each item from `begin + period` on
/// equals the item `period` positions before it.
struct RepeatedRun {
  int64_t begin = 0, end = 0, period = 1;

  int64_t length() const { return end - begin; }
  int64_t repeats() const { return length() / period; }
};

/// Disjoint runs of at least `leastRepeats` periods, in their order. The search
/// is greedy: at each position, from the left, it takes the longest run that
/// begins there. If several are equally long, it takes the one with the
/// shortest period. Only the next few occurrences of an item are tried as the
/// beginning of the second period. So it takes time linear in the items times
/// the longest period.
std::vector<RepeatedRun> repeatedRuns(const std::vector<int64_t> &items,
                                      int64_t leastRepeats);

} // namespace tpsp

#endif // TPSP_SCHEDULE_REPEATEDRUNS_H
