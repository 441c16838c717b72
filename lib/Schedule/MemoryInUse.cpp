#include "MemoryInUse.h"

#include <algorithm>

using namespace tpsp;

namespace {

/// When a buffer is in use: [begin, end), and nothing if begin >= end.
struct Lifetime {
  double begin = 0, end = 0;
  bool isUsed = false;

  void include(const SimulatedCommand &user) {
    begin = isUsed ? std::min(begin, user.begin) : user.begin;
    end = isUsed ? std::max(end, user.end) : user.end;
    isUsed = true;
  }
  bool contains(double seconds) const {
    return isUsed && begin <= seconds && seconds < end;
  }
};

} // namespace

static std::vector<Lifetime> lifetimesOf(const Step &step,
                                         const SimulatedStep &result) {
  std::vector<Lifetime> lifetimes(step.buffers.size());
  for (size_t i = 0; i < step.commands.size(); ++i)
    for (const StepAccess &access : step.commands[i].accesses)
      lifetimes[access.buffer].include(result.commands[i]);
  for (size_t i = 0; i < step.buffers.size(); ++i)
    if (step.buffers[i].lasts())
      lifetimes[i] = {0, result.seconds, true};
  return lifetimes;
}

void tpsp::addMemory(const Step &step, SimulatedStep &result) {
  std::vector<Lifetime> lifetimes = lifetimesOf(step, result);
  std::vector<MemoryPoint> changes;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (!lifetimes[i].isUsed)
      continue;
    changes.push_back({lifetimes[i].begin, step.buffers[i].bytes});
    changes.push_back({lifetimes[i].end, -step.buffers[i].bytes});
  }
  // What ends makes room for what begins.
  std::sort(changes.begin(), changes.end(),
            [](const MemoryPoint &a, const MemoryPoint &b) {
              return a.seconds != b.seconds ? a.seconds < b.seconds
                                            : a.bytes < b.bytes;
            });
  int64_t bytes = 0;
  for (const MemoryPoint &change : changes) {
    bytes += change.bytes;
    if (result.memory.empty() || result.memory.back().seconds < change.seconds)
      result.memory.push_back({change.seconds, bytes});
    result.memory.back().bytes = bytes;
  }
  for (const MemoryPoint &point : result.memory)
    if (point.bytes > result.peakBytes) {
      result.peakBytes = point.bytes;
      result.peakSeconds = point.seconds;
    }
  for (size_t i = 0; i < lifetimes.size(); ++i)
    if (lifetimes[i].contains(result.peakSeconds))
      result.liveAtPeak.push_back(i);
  std::stable_sort(result.liveAtPeak.begin(), result.liveAtPeak.end(),
                   [&](int64_t a, int64_t b) {
                     return step.buffers[a].bytes > step.buffers[b].bytes;
                   });
}
