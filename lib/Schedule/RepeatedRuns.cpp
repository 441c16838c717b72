#include "tpsp/Schedule/RepeatedRuns.h"

#include <algorithm>
#include <unordered_map>

using namespace tpsp;

/// For each position, the next position of an equal item; the end if there is
/// none.
static std::vector<int64_t> nextEqual(const std::vector<int64_t> &items) {
  int64_t count = items.size();
  std::vector<int64_t> next(count, count);
  std::unordered_map<int64_t, int64_t> later;
  for (int64_t i = count; i-- > 0;) {
    auto [known, isNew] = later.try_emplace(items[i], i);
    if (!isNew)
      next[i] = known->second;
    known->second = i;
  }
  return next;
}

/// The longest run that begins at a position; an empty run if there is none.
static RepeatedRun longestAt(int64_t begin, const std::vector<int64_t> &items,
                             const std::vector<int64_t> &next,
                             int64_t leastRepeats) {
  constexpr int mostPeriods = 64;
  int64_t count = items.size();
  RepeatedRun longest{begin, begin, 1};
  int64_t second = next[begin];
  for (int tries = 0; tries < mostPeriods && second < count; ++tries) {
    int64_t period = second - begin;
    if (begin + leastRepeats * period > count)
      break;
    int64_t end = second;
    while (end < count && items[end] == items[end - period])
      ++end;
    if (end - begin >= leastRepeats * period && end > longest.end)
      longest = {begin, end, period};
    second = next[second];
  }
  return longest;
}

std::vector<RepeatedRun> tpsp::repeatedRuns(const std::vector<int64_t> &items,
                                            int64_t leastRepeats) {
  std::vector<int64_t> next = nextEqual(items);
  std::vector<RepeatedRun> runs;
  for (int64_t at = 0; at < int64_t(items.size());) {
    RepeatedRun run = longestAt(at, items, next, leastRepeats);
    if (run.length() > 0)
      runs.push_back(run);
    at = std::max(run.end, at + 1);
  }
  return runs;
}
