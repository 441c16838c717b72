#include "tpsp/Runtime/Driver/Pictures/Timeline.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;

void Timeline::begin() {
  size_t numIssued = 0;
  for (const PlanCommand &command : plan.commands)
    numIssued += plan.timesOf(command);
  lists.resize(plan.numRanks() * plan.numStreams);
  for (std::vector<Entry> &entries : lists) {
    entries.clear();
    entries.reserve(numIssued);
  }
}

void Timeline::ran(int64_t rank, const tpsp_rt_command &command, Time begin,
                   Time end) {
  listOf(rank, command.stream).push_back({command.id, begin, end});
}

/// The time at which the first rank began.
Timeline::Time Timeline::start() const {
  Time first = Time::max();
  for (const std::vector<Entry> &entries : lists)
    if (!entries.empty())
      first = std::min(first, entries.front().begin);
  return first;
}

void Timeline::fill(StepTrace &trace) const {
  Time zero = start();
  auto seconds = [&](Time time) {
    return std::chrono::duration<double>(time - zero).count();
  };
  for (size_t list = 0; list < lists.size(); ++list) {
    auto &streams = trace.ranks[list / plan.numStreams].streams;
    streams.resize(plan.numStreams);
    std::vector<TraceSpan> &spans = streams[list % plan.numStreams];
    spans.clear();
    spans.reserve(lists[list].size());
    for (const Entry &entry : lists[list])
      spans.push_back(
          {entry.command, seconds(entry.begin), seconds(entry.end)});
  }
}
