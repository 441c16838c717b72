#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

using namespace tpsp;

bool tpsp::isCovered(const StreamClock &a, const StreamClock &b) {
  return std::equal(a.begin(), a.end(), b.begin(), std::less_equal<>());
}

void tpsp::raiseTo(StreamClock &clock, const StreamClock &other) {
  for (auto [mine, theirs] : llvm::zip_equal(clock, other))
    mine = std::max(mine, theirs);
}

void tpsp::lowerTo(StreamClock &clock, const StreamClock &other) {
  for (auto [mine, theirs] : llvm::zip_equal(clock, other))
    mine = std::min(mine, theirs);
}

std::optional<StepFault> HappensBefore::analyse(const Plan &plan,
                                                HappensBefore &out) {
  out = HappensBefore();
  out.streams = plan.numStreams;
  // The clock of each stream's next command, and the clock of each event.
  std::vector<StreamClock> streams(plan.numStreams,
                                   StreamClock(plan.numStreams, 0));
  std::vector<StreamClock> events(plan.numEvents);
  std::vector<int64_t> recordedBy(plan.numEvents, -1);
  for (auto [i, command] : llvm::enumerate(plan.commands)) {
    int64_t number = i;
    if (command.stream < 0 || command.stream >= plan.numStreams)
      return StepFault{
          llvm::formatv("is on stream {0}, but the program has {1}",
                        command.stream, plan.numStreams),
          number};
    bool isRecord = command.kind == CommandKind::EventRecord;
    if (command.isEvent() &&
        (command.event < 0 || command.event >= plan.numEvents))
      return StepFault{llvm::formatv("is of event {0}, but the program has {1}",
                                     command.event, plan.numEvents),
                       number};
    if (isRecord && recordedBy[command.event] >= 0)
      return StepFault{llvm::formatv("records event {0} again", command.event),
                       number, recordedBy[command.event]};
    StreamClock &clock = streams[command.stream];
    if (command.kind == CommandKind::EventWait) {
      if (recordedBy[command.event] < 0)
        return StepFault{llvm::formatv("waits for event {0}, which nothing has "
                                       "recorded before",
                                       command.event),
                         number};
      raiseTo(clock, events[command.event]);
    }
    out.positions.push_back({command.stream, clock[command.stream]});
    out.clocks.push_back(clock);
    ++clock[command.stream];
    if (isRecord) {
      events[command.event] = clock;
      recordedBy[command.event] = number;
    }
  }
  return std::nullopt;
}

std::vector<std::vector<int64_t>> tpsp::dependencesOf(const Plan &plan) {
  struct Earlier {
    int64_t command;
    BufferPart part;
    bool isWrite;
  };
  std::vector<std::vector<Earlier>> touched(plan.buffers.size());
  std::vector<std::vector<int64_t>> after(plan.commands.size());
  const std::vector<int64_t> resultOf = resultsOfCotangents(plan);
  for (auto [i, command] : llvm::enumerate(plan.commands)) {
    for (const PlanAccess &access : command.accesses) {
      for (const Earlier &earlier : touched[access.buffer])
        if ((access.isWrite || earlier.isWrite) &&
            access.part.overlaps(earlier.part))
          after[i].push_back(earlier.command);
      int64_t result = resultOf[access.buffer];
      if (result >= 0)
        for (const Earlier &earlier : touched[result])
          if (earlier.isWrite)
            after[i].push_back(earlier.command);
    }
    llvm::sort(after[i]);
    after[i].erase(std::unique(after[i].begin(), after[i].end()),
                   after[i].end());
    for (const PlanAccess &access : command.accesses) {
      // Reads only matter to later writes, and most arguments have none.
      if (access.isWrite || plan.buffers[access.buffer].isWritten())
        touched[access.buffer].push_back(
            {int64_t(i), access.part, access.isWrite});
    }
  }
  return after;
}
