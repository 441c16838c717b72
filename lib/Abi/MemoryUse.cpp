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

/// For each buffer, when it is in use: for each micro-batch, if it holds
/// nothing between them, else once.
static std::vector<std::vector<Lifetime>> lifetimesOf(const Plan &plan,
                                                      const TraceRank &rank) {
  constexpr double never = std::numeric_limits<double>::infinity();
  std::vector<bool> isRepeated = findRepeated(plan);
  std::vector<std::vector<Lifetime>> lifetimes(plan.buffers.size());
  std::vector<size_t> runs(plan.commands.size(), 0);
  for (const std::vector<TraceSpan> &stream : rank.streams)
    for (const TraceSpan &span : stream) {
      size_t run = runs[span.command]++;
      for (const PlanAccess &access : plan.commands[span.command].accesses) {
        std::vector<Lifetime> &own = lifetimes[access.buffer];
        size_t number = isRepeated[access.buffer] ? run : 0;
        own.resize(std::max(own.size(), number + 1));
        own[number].include(span);
      }
    }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].lasts())
      lifetimes[i] = {{0, never, true}};
  return lifetimes;
}

static std::vector<TraceSample>
curveOf(const Plan &plan, const std::vector<std::vector<Lifetime>> &lifetimes) {
  if (plan.buffers.empty())
    return {};
  std::vector<TraceSample> changes = {{0, 0}};
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    auto bytes = double(plan.buffers[i].bytes);
    for (const Lifetime &lifetime : lifetimes[i]) {
      changes.push_back({lifetime.begin, bytes});
      if (!plan.buffers[i].lasts())
        changes.push_back({lifetime.end, -bytes});
    }
  }
  return samplesOf(std::move(changes));
}

MemoryUse tpsp::memoryUse(const Plan &plan, const TraceRank &rank) {
  std::vector<std::vector<Lifetime>> lifetimes = lifetimesOf(plan, rank);
  MemoryUse use;
  use.curve = curveOf(plan, lifetimes);
  for (const TraceSample &sample : use.curve)
    if (int64_t(sample.value) > use.peakBytes) {
      use.peakBytes = int64_t(sample.value);
      use.peakSeconds = sample.seconds;
    }
  for (size_t i = 0; i < lifetimes.size(); ++i)
    if (std::any_of(lifetimes[i].begin(), lifetimes[i].end(),
                    [&](const Lifetime &lifetime) {
                      return lifetime.contains(use.peakSeconds);
                    }))
      use.liveAtPeak.push_back(int64_t(i));
  std::stable_sort(use.liveAtPeak.begin(), use.liveAtPeak.end(),
                   [&](int64_t a, int64_t b) {
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
