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

/// The lengths and shifts of periods that are tried.
std::vector<std::pair<int64_t, int64_t>>
periodsOf(const std::vector<StepAction> &order) {
  // Forward passes alone have short periods. Interleaved chunks take as many
  // micro-batches in turn as there are stages.
  constexpr int64_t mostShort = 16, mostShift = 16;
  std::set<int64_t> repeated;
  for (const StepAction &action : order)
    if (action.microBatch > 0)
      repeated.insert(action.segment);
  auto all = int64_t(repeated.size());
  std::vector<std::pair<int64_t, int64_t>> periods;
  for (int64_t length = 1; length < std::min(all, mostShort); ++length)
    periods.push_back({length, 1});
  for (int64_t shift = 1; shift <= mostShift && all > 0; ++shift)
    periods.push_back({all * shift, shift});
  return periods;
}

/// The first actions of an order, up to the end of its longest repetition.
StoredActions firstStretch(const std::vector<StepAction> &order) {
  StoredActions best{order};
  for (auto [length, shift] : periodsOf(order)) {
    Stretch found = longestStretch(order, length, shift);
    if (found.size / length * length > best.times * best.length)
      best = {order, found.begin, length, found.size / length, shift};
  }
  if (best.times > 0)
    best.actions.resize(best.begin + best.length);
  return best;
}

bool isValid(const StoredActions &stored) {
  // Sums of numbers from a file do not overflow.
  auto isSmall = [](int64_t number) {
    return number >= 0 && number <= mostActions;
  };
  auto size = int64_t(stored.actions.size());
  return isSmall(stored.shift) && isSmall(stored.times) &&
         isSmall(stored.begin) && isSmall(stored.length) &&
         stored.begin + stored.length <= size &&
         stored.length * stored.times <= mostActions &&
         std::all_of(stored.actions.begin(), stored.actions.end(),
                     [&](const StepAction &action) {
                       return isSmall(action.microBatch);
                     });
}

} // namespace

StoredOrder tpsp::rt::storedOrder(const std::vector<StepAction> &order) {
  // A schedule has few stretches. The rest of another order is kept as it is.
  constexpr size_t mostStretches = 8;
  StoredOrder stored;
  std::vector<StepAction> rest = order;
  while (!rest.empty() && stored.size() < mostStretches) {
    stored.push_back(firstStretch(rest));
    const StoredActions &first = stored.back();
    rest.erase(rest.begin(), rest.begin() + int64_t(first.actions.size()) +
                                 first.times * first.length);
  }
  if (!rest.empty())
    stored.push_back({std::move(rest)});
  return stored;
}

bool tpsp::rt::expandOrder(const StoredOrder &stored,
                           std::vector<StepAction> &order) {
  order.clear();
  for (const StoredActions &each : stored) {
    if (!isValid(each) ||
        int64_t(order.size() + each.actions.size()) > mostActions)
      return false;
    auto first = each.actions.begin() + each.begin;
    auto end = first + each.length;
    order.insert(order.end(), each.actions.begin(), end);
    for (int64_t time = 1; time <= each.times; ++time)
      std::transform(
          first, end, std::back_inserter(order),
          [&](const StepAction &action) -> StepAction {
            return {action.segment, action.microBatch + time * each.shift};
          });
    order.insert(order.end(), end, each.actions.end());
  }
  return true;
}
