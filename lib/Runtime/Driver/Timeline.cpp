#include "tpsp/Runtime/Driver/Timeline.h"

#include <algorithm>

using namespace tpsp::rt;

void Timeline::begin() {
  lists.resize(manifest.numRanks() * manifest.streams);
  for (std::vector<Entry> &entries : lists) {
    entries.clear();
    entries.reserve(manifest.commands);
  }
}

void Timeline::ran(int64_t rank, const tpsp_rt_command &command, Time begin,
                   Time end) {
  listOf(rank, command.stream).push_back({&command, begin, end});
}

/// When the first rank began.
Timeline::Time Timeline::start() const {
  Time first = Time::max();
  for (const std::vector<Entry> &entries : lists)
    if (!entries.empty())
      first = std::min(first, entries.front().begin);
  return first;
}

/// Gives a command what its name says: "all_gather xn at gpt.mlir:12:8", or
/// "event_wait".
static void describe(const tpsp_rt_command &command, TraceCommand &described) {
  if (!described.name.empty() || !command.name)
    return;
  std::string text = command.name;
  size_t place = text.rfind(" at ");
  described.name = text.substr(0, place);
  if (text.rfind("event_", 0) == 0)
    described.kind = TraceCommand::Kind::Event;
  if (described.location.empty() && place != std::string::npos)
    described.location = text.substr(place + 4);
}

void Timeline::fill(StepTrace &trace) const {
  Time zero = start();
  auto seconds = [&](Time time) {
    return std::chrono::duration<double>(time - zero).count();
  };
  for (size_t list = 0; list < lists.size(); ++list) {
    auto &streams = trace.ranks[list / manifest.streams].streams;
    streams.resize(manifest.streams);
    std::vector<TraceSpan> &spans = streams[list % manifest.streams];
    spans.clear();
    spans.reserve(lists[list].size());
    for (const Entry &entry : lists[list]) {
      int64_t id = entry.command->id;
      describe(*entry.command, trace.commands[id]);
      spans.push_back({id, seconds(entry.begin), seconds(entry.end)});
    }
  }
}
