#include "SizeOrderedArena.h"

#include "tpsp/Algebra/ArenaLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

class SizeOrder {
public:
  SizeOrder(const Plan &plan, const BufferLifetimes &lifetimes,
            int64_t leastBytes, int64_t base,
            std::vector<std::optional<int64_t>> &offsets)
      : plan(plan), lifetimes(lifetimes), base(base), offsets(offsets),
        beside(plan.buffers.size()) {
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (lifetimes.isTemporary(i) && plan.buffers[i].bytes >= leastBytes)
        chosen.push_back(i);
    findBeside();
  }

  int64_t run(int64_t target) {
    llvm::stable_sort(chosen,
                      [&](int64_t a, int64_t b) { return key(a) > key(b); });
    int64_t least = end();
    std::vector<std::optional<int64_t>> best = offsets;
    for (int tries = 0; tries < mostTries && least > target; ++tries) {
      promote(target);
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
    for (int64_t buffer : chosen)
      offsets[buffer].reset();
    int64_t end = base;
    for (int64_t buffer : chosen) {
      offsets[buffer] = placeFor(buffer);
      end = std::max(end, endOf(buffer));
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

  /// The first gap with enough room between the buffers in use together with
  /// it, else their end.
  int64_t placeFor(int64_t buffer) const {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (int64_t other : beside[buffer])
      if (offsets[other])
        taken.push_back({*offsets[other], endOf(other)});
    llvm::sort(taken);
    int64_t bytes = ArenaLayout::rounded(plan.buffers[buffer].bytes), at = base;
    for (auto [begin, end] : taken) {
      if (begin - at >= bytes)
        break;
      at = std::max(at, end);
    }
    return at;
  }

  const Plan &plan;
  const BufferLifetimes &lifetimes;
  const int64_t base;
  std::vector<std::optional<int64_t>> &offsets;
  std::vector<int64_t> chosen;
  std::vector<std::vector<int64_t>> beside;
};

} // namespace

int64_t tpsp::placeBySize(const Plan &plan, const BufferLifetimes &lifetimes,
                          int64_t leastBytes, int64_t base, int64_t target,
                          std::vector<std::optional<int64_t>> &offsets) {
  return SizeOrder(plan, lifetimes, leastBytes, base, offsets).run(target);
}
