#include "tpsp/Abi/MemoryUse.h"

#include <algorithm>
#include <limits>

using namespace tpsp;

namespace {

/// When a buffer is in use: [begin, end).
struct Lifetime {
  double begin = 0, end = 0;
  bool isUsed = false;

  void include(const TraceSpan &user) {
    begin = isUsed ? std::min(begin, user.begin) : user.begin;
    end = isUsed ? std::max(end, user.end) : user.end;
    isUsed = true;
  }
  bool contains(double seconds) const {
    return isUsed && begin <= seconds && seconds < end;
  }
};

} // namespace

/// For each buffer, whether only commands that run for every micro-batch use
/// it.
static std::vector<bool> findRepeated(const Plan &plan) {
  std::vector<bool> isRepeated(plan.buffers.size(), true);
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses)
      if (!plan.segments[command.segment].isOfMicroBatch())
        isRepeated[access.buffer] = false;
  return isRepeated;
}

namespace {

/// For each buffer, when it is in use: for each micro-batch, if it holds
/// nothing between them, else once.
class Lifetimes {
public:
  Lifetimes(const Plan &plan, const TraceRank &rank)
      : isRepeated(findRepeated(plan)), begins(plan.buffers.size() + 1, 0) {
    std::vector<size_t> runs(plan.commands.size(), 0);
    size_t mostRuns = 1;
    for (const std::vector<TraceSpan> &stream : rank.streams)
      for (const TraceSpan &span : stream)
        mostRuns = std::max(mostRuns, ++runs[span.command]);
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      begins[i + 1] = begins[i] + (isRepeated[i] ? mostRuns : 1);
    all.resize(begins.back());
    addUses(plan, rank);
  }

  /// Calls `visit(buffer, lifetime)` for all lifetimes that have users, by
  /// buffer.
  template <typename Visit> void forEach(Visit visit) const {
    for (size_t i = 0; i + 1 < begins.size(); ++i)
      for (size_t at = begins[i]; at < begins[i + 1]; ++at)
        if (all[at].isUsed)
          visit(i, all[at]);
  }

private:
  void addUses(const Plan &plan, const TraceRank &rank) {
    std::vector<size_t> runs(plan.commands.size(), 0);
    for (const std::vector<TraceSpan> &stream : rank.streams)
      for (const TraceSpan &span : stream) {
        size_t run = runs[span.command]++;
        for (const PlanAccess &access : plan.commands[span.command].accesses)
          all[begins[access.buffer] + (isRepeated[access.buffer] ? run : 0)]
              .include(span);
      }
    constexpr double never = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].lasts()) {
        std::fill(all.begin() + begins[i], all.begin() + begins[i + 1],
                  Lifetime());
        all[begins[i]] = {0, never, true};
      }
  }

  const std::vector<bool> isRepeated;
  /// For each buffer, where its lifetimes begin in `all`.
  std::vector<size_t> begins;
  std::vector<Lifetime> all;
};

} // namespace

static std::vector<TraceSample> curveOf(const Plan &plan,
                                        const Lifetimes &lifetimes) {
  if (plan.buffers.empty())
    return {};
  std::vector<TraceSample> changes = {{0, 0}};
  lifetimes.forEach([&](size_t buffer, const Lifetime &lifetime) {
    auto bytes = double(plan.buffers[buffer].bytes);
    changes.push_back({lifetime.begin, bytes});
    if (!plan.buffers[buffer].lasts())
      changes.push_back({lifetime.end, -bytes});
  });
  return samplesOf(std::move(changes));
}

MemoryUse tpsp::memoryUse(const Plan &plan, const TraceRank &rank) {
  Lifetimes lifetimes(plan, rank);
  MemoryUse use;
  use.curve = curveOf(plan, lifetimes);
  for (const TraceSample &sample : use.curve)
    if (int64_t(sample.value) > use.peakBytes) {
      use.peakBytes = int64_t(sample.value);
      use.peakSeconds = sample.seconds;
    }
  std::vector<int64_t> &live = use.liveAtPeak;
  lifetimes.forEach([&](size_t buffer, const Lifetime &lifetime) {
    bool isLive = lifetime.contains(use.peakSeconds);
    if (isLive && (live.empty() || live.back() != int64_t(buffer)))
      live.push_back(int64_t(buffer));
  });
  std::stable_sort(live.begin(), live.end(), [&](int64_t a, int64_t b) {
    return plan.buffers[a].bytes > plan.buffers[b].bytes;
  });
  return use;
}

MemoryUse tpsp::memoryUse(const Plan &plan) {
  TraceRank rank;
  rank.streams.resize(1);
  for (size_t i = 0; i < plan.commands.size(); ++i)
    rank.streams[0].push_back({int64_t(i), double(i), double(i + 1)});
  return memoryUse(plan, rank);
}
