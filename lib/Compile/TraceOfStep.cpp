#include "tpsp/Compile/TraceOfStep.h"

#include <algorithm>

using namespace tpsp;

namespace {

/// Who wrote which part of each buffer last.
class LastWriters {
public:
  explicit LastWriters(const Step &step)
      : step(step), writes(step.buffers.size()) {}

  /// The commands whose results `command` reads, each once, ascending.
  std::vector<int64_t> of(const StepCommand &command) const {
    std::vector<int64_t> commands;
    for (const StepAccess &access : command.accesses)
      if (!access.isWrite)
        for (const Write &write : writes[access.buffer])
          if (write.part.overlaps(access.part))
            commands.push_back(write.command);
    std::sort(commands.begin(), commands.end());
    commands.erase(std::unique(commands.begin(), commands.end()),
                   commands.end());
    return commands;
  }

  void add(int64_t number, const StepCommand &command) {
    for (const StepAccess &access : command.accesses) {
      if (!access.isWrite)
        continue;
      std::vector<Write> &before = writes[access.buffer];
      bool isWhole = access.part.bytes() == step.buffers[access.buffer].bytes;
      before.erase(std::remove_if(before.begin(), before.end(),
                                  [&](const Write &write) {
                                    return isWhole || write.part == access.part;
                                  }),
                   before.end());
      before.push_back({number, access.part});
    }
  }

private:
  struct Write {
    int64_t command;
    BufferPart part;
  };

  const Step &step;
  std::vector<std::vector<Write>> writes;
};

} // namespace

rt::StepTrace tpsp::traceOf(const Step &step, const rt::Manifest &manifest) {
  rt::StepTrace trace = rt::emptyTrace(manifest);
  for (const StepBuffer &buffer : step.buffers)
    trace.buffers.push_back(
        {buffer.bytes, buffer.lasts(), {}, buffer.name, buffer.location});
  LastWriters writers(step);
  for (size_t i = 0; i < step.commands.size(); ++i) {
    const StepCommand &command = step.commands[i];
    auto number = static_cast<int64_t>(i);
    rt::TraceCommand &described = trace.commands[i];
    described.name = command.name;
    described.location = command.location;
    if (command.isEvent())
      described.kind = rt::TraceCommand::Kind::Event;
    described.reads = writers.of(command);
    writers.add(number, command);
    for (const StepAccess &access : command.accesses) {
      std::vector<int64_t> &users = trace.buffers[access.buffer].users;
      if (users.empty() || users.back() != number)
        users.push_back(number);
    }
  }
  return trace;
}

void tpsp::fillSimulated(rt::StepTrace &trace, const Step &step,
                         const SimulatedStep &simulated) {
  rt::TraceRank rank;
  rank.streams.resize(step.numStreams);
  for (size_t i = 0; i < simulated.commands.size(); ++i)
    rank.streams[step.commands[i].stream].push_back(
        {static_cast<int64_t>(i), simulated.commands[i].begin,
         simulated.commands[i].end});
  for (const MemoryPoint &point : simulated.memory)
    rank.memory.push_back({point.seconds, static_cast<double>(point.bytes)});
  for (rt::TraceRank &each : trace.ranks) {
    rank.name = std::move(each.name);
    each = rank;
  }
}
