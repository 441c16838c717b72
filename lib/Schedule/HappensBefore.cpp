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

std::optional<StepFault> HappensBefore::analyse(const Step &step,
                                                HappensBefore &out) {
  out = HappensBefore();
  out.streams = step.numStreams;
  // What each stream's next command knows, and what is known of each event.
  std::vector<StreamClock> streams(step.numStreams,
                                   StreamClock(step.numStreams, 0));
  std::vector<StreamClock> events(step.numEvents);
  std::vector<int64_t> recordedBy(step.numEvents, -1);
  for (auto [i, command] : llvm::enumerate(step.commands)) {
    int64_t number = i;
    if (command.stream < 0 || command.stream >= step.numStreams)
      return StepFault{
          llvm::formatv("is on stream {0}, but the program has {1}",
                        command.stream, step.numStreams),
          number};
    bool isRecord = command.kind == StepKind::EventRecord;
    if (command.isEvent() &&
        (command.event < 0 || command.event >= step.numEvents))
      return StepFault{llvm::formatv("is of event {0}, but the program has {1}",
                                     command.event, step.numEvents),
                       number};
    if (isRecord && recordedBy[command.event] >= 0)
      return StepFault{llvm::formatv("records event {0} again", command.event),
                       number, recordedBy[command.event]};
    StreamClock &clock = streams[command.stream];
    if (command.kind == StepKind::EventWait) {
      if (recordedBy[command.event] < 0)
        return StepFault{llvm::formatv("waits for event {0}, which nothing has "
                                       "recorded before",
                                       command.event),
                         number};
      raiseTo(clock, events[command.event]);
    }
    out.places.push_back({command.stream, clock[command.stream]});
    out.clocks.push_back(clock);
    ++clock[command.stream];
    if (isRecord) {
      events[command.event] = clock;
      recordedBy[command.event] = number;
    }
  }
  return std::nullopt;
}

std::vector<std::vector<int64_t>> tpsp::dependencesOf(const Step &step) {
  struct Earlier {
    int64_t command;
    BufferPart part;
    bool isWrite;
  };
  std::vector<std::vector<Earlier>> touched(step.buffers.size());
  std::vector<std::vector<int64_t>> after(step.commands.size());
  for (auto [i, command] : llvm::enumerate(step.commands)) {
    for (const StepAccess &access : command.accesses) {
      for (const Earlier &earlier : touched[access.buffer])
        if ((access.isWrite || earlier.isWrite) &&
            access.part.overlaps(earlier.part))
          after[i].push_back(earlier.command);
      int64_t result = step.buffers[access.buffer].cotangentOf;
      if (result >= 0)
        for (const Earlier &earlier : touched[result])
          if (earlier.isWrite)
            after[i].push_back(earlier.command);
    }
    llvm::sort(after[i]);
    after[i].erase(std::unique(after[i].begin(), after[i].end()),
                   after[i].end());
    for (const StepAccess &access : command.accesses) {
      // Reads matter to later writes alone, and nothing writes an argument.
      if (access.isWrite || !step.buffers[access.buffer].isArgument)
        touched[access.buffer].push_back(
            {int64_t(i), access.part, access.isWrite});
    }
  }
  return after;
}
