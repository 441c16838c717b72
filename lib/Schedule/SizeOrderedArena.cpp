#include "SizeOrderedArena.h"

#include "tpsp/Algebra/ArenaLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

/// Bytes that are taken, as ranges that do not touch each other, ascending.
class TakenRanges {
public:
  /// Keeps its memory.
  void clear() { ranges.clear(); }

  void add(int64_t begin, int64_t end) {
    auto first =
        llvm::lower_bound(ranges, begin, [](const Range &range, int64_t at) {
          return range.end < at;
        });
    auto last = first;
    for (; last != ranges.end() && last->begin <= end; ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    if (first == last) {
      ranges.insert(first, {begin, end});
      return;
    }
    *first = {begin, end};
    ranges.erase(std::next(first), last);
  }

  /// Returns where the first gap of at least `bytes` bytes begins, from `base`
  /// on.
  int64_t firstGap(int64_t base, int64_t bytes) const {
    int64_t at = base;
    for (const Range &range : ranges) {
      if (range.begin - at >= bytes)
        break;
      at = std::max(at, range.end);
    }
    return at;
  }

private:
  struct Range {
    int64_t begin, end;
  };
  std::vector<Range> ranges;
};

class SizeOrder {
public:
  SizeOrder(const Plan &plan, const BufferLifetimes &lifetimes,
            int64_t leastBytes, int64_t base,
            std::vector<std::optional<int64_t>> &offsets)
      : plan(plan), lifetimes(lifetimes), base(base), offsets(offsets),
        beside(plan.buffers.size()), taken(plan.buffers.size()) {
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (lifetimes.isTemporary(i) && plan.buffers[i].bytes >= leastBytes)
        chosen.push_back(i);
    findBeside();
  }

  int64_t run(const ArenaGoal &goal) {
    llvm::stable_sort(chosen,
                      [&](int64_t a, int64_t b) { return key(a) > key(b); });
    int64_t least = end();
    std::vector<std::optional<int64_t>> best = offsets;
    for (int tries = 0;
         tries < mostTries && least > goal.enough && least <= goal.hopeless;
         ++tries) {
      promote(goal.least);
      if (int64_t found = end(); found < least) {
        least = found;
        best = offsets;
      }
    }
    offsets = std::move(best);
    return least;
  }

private:
  static constexpr int mostTries = 4;

  /// Places all chosen buffers, in their order. Returns the end of the arena.
  int64_t end() {
    for (int64_t buffer : chosen) {
      offsets[buffer].reset();
      taken[buffer].clear();
    }
    int64_t end = base;
    for (int64_t buffer : chosen) {
      int64_t bytes = ArenaLayout::rounded(plan.buffers[buffer].bytes);
      offsets[buffer] = taken[buffer].firstGap(base, bytes);
      end = std::max(end, endOf(buffer));
      for (int64_t other : beside[buffer])
        if (!offsets[other])
          taken[other].add(*offsets[buffer], endOf(buffer));
    }
    return end;
  }

  /// Moves buffers that found no place below `target` to the front of the
  /// order.
  void promote(int64_t target) {
    std::stable_partition(chosen.begin(), chosen.end(), [&](int64_t buffer) {
      return endOf(buffer) > target;
    });
  }

  /// The key of the order. Among equally large buffers, the buffer that is in
  /// use longest goes first.
  std::pair<int64_t, int64_t> key(int64_t buffer) const {
    const BufferLifetimes::Lifetime &use = lifetimes.of(buffer);
    return {plan.buffers[buffer].bytes, use.last - use.first};
  }

  int64_t endOf(int64_t buffer) const {
    return *offsets[buffer] + ArenaLayout::rounded(plan.buffers[buffer].bytes);
  }

  /// Finds, for each buffer, the buffers that may be in use together with it.
  void findBeside() {
    llvm::stable_sort(chosen, [&](int64_t a, int64_t b) {
      return lifetimes.of(a).first < lifetimes.of(b).first;
    });
    std::vector<int64_t> active;
    for (int64_t buffer : chosen) {
      const StreamClock &ended = lifetimes.upcoming(lifetimes.of(buffer).first);
      llvm::erase_if(active, [&](int64_t other) {
        return isCovered(lifetimes.of(other).after, ended);
      });
      for (int64_t other : active)
        if (!lifetimes.mayFollow(other, buffer)) {
          beside[buffer].push_back(other);
          beside[other].push_back(buffer);
        }
      active.push_back(buffer);
    }
  }

  const Plan &plan;
  const BufferLifetimes &lifetimes;
  const int64_t base;
  std::vector<std::optional<int64_t>> &offsets;
  std::vector<int64_t> chosen;
  std::vector<std::vector<int64_t>> beside;
  /// For each buffer, the ranges of placed buffers that are in use together
  /// with it.
  std::vector<TakenRanges> taken;
};

} // namespace

int64_t tpsp::placeBySize(const Plan &plan, const BufferLifetimes &lifetimes,
                          int64_t leastBytes, int64_t base,
                          const ArenaGoal &goal,
                          std::vector<std::optional<int64_t>> &offsets) {
  return SizeOrder(plan, lifetimes, leastBytes, base, offsets).run(goal);
}
