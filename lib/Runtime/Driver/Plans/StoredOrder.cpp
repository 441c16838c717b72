#include "StoredOrder.h"

#include <algorithm>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

/// The longest stretch of an order in which each action is that of `length`
/// actions before, `shift` micro-batches later.
struct Stretch {
  int64_t begin = 0, size = 0;
};

Stretch longestStretch(const std::vector<StepAction> &order, int64_t length,
                       int64_t shift) {
  Stretch longest, current;
  for (int64_t i = length; i < int64_t(order.size()); ++i) {
    const StepAction &before = order[i - length];
    if (!(order[i] == StepAction{before.segment, before.microBatch + shift})) {
      current = {i - length + 1, 0};
      continue;
    }
    ++current.size;
    if (current.size > longest.size)
      longest = current;
  }
  return longest;
}

} // namespace

StoredOrder tpsp::rt::storedOrder(const std::vector<StepAction> &order) {
  // Interleaved chunks take as many micro-batches in turn as there are stages.
  constexpr int64_t mostShift = 16;
  std::set<int64_t> repeated;
  for (const StepAction &action : order)
    if (action.microBatch > 0)
      repeated.insert(action.segment);
  StoredOrder best{order};
  auto length = int64_t(repeated.size());
  for (int64_t shift = 1; shift <= mostShift && length > 0; ++shift) {
    int64_t period = length * shift;
    Stretch found = longestStretch(order, period, shift);
    if (found.size / period * period <= best.times * best.length)
      continue;
    best.begin = found.begin;
    best.length = period;
    best.times = found.size / period;
    best.shift = shift;
  }
  auto first = best.actions.begin() + best.begin + best.length;
  best.actions.erase(first, first + best.times * best.length);
  return best;
}

bool tpsp::rt::expandOrder(const StoredOrder &stored,
                           std::vector<StepAction> &order) {
  // Sums of numbers from a file do not overflow.
  auto isSmall = [](int64_t number) {
    return number >= 0 && number <= mostActions;
  };
  if (!isSmall(stored.shift) ||
      !std::all_of(
          stored.actions.begin(), stored.actions.end(),
          [&](const StepAction &action) { return isSmall(action.microBatch); }))
    return false;
  auto size = int64_t(stored.actions.size());
  if (stored.begin < 0 || stored.length < 0 || stored.times < 0 ||
      stored.begin > size || stored.length > size - stored.begin ||
      (stored.length > 0 && stored.times > mostActions / stored.length))
    return false;
  auto first = stored.actions.begin() + stored.begin;
  auto end = first + stored.length;
  std::vector<StepAction> all(stored.actions.begin(), end);
  for (int64_t time = 1; time <= stored.times && stored.length > 0; ++time)
    std::transform(
        first, end, std::back_inserter(all),
        [&](const StepAction &action) -> StepAction {
          return {action.segment, action.microBatch + time * stored.shift};
        });
  all.insert(all.end(), end, stored.actions.end());
  order = std::move(all);
  return true;
}
