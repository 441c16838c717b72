#include "AlikePlans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

using namespace tpsp;

std::string tpsp::scheduleKey(const Plan &plan, const CostModel &cost) {
  std::string key;
  auto add = std::back_inserter(key);
  for (const PlanBuffer &buffer : plan.buffers)
    // Commands that read a cotangent follow those that make its result.
    fmt::format_to(add, "{}:{}:{}:{}:{}:{}{} ", int(buffer.kind), buffer.bytes,
                   buffer.updatedBy >= 0, buffer.isCotangent() ? buffer.of : -1,
                   buffer.kind == BufferKind::Output ? buffer.number : -1,
                   int(buffer.livesBefore), int(buffer.livesAfter));
  int64_t first = plan.commands.empty() ? 0 : plan.commands.front().phase;
  for (const PlanCommand &command : plan.commands) {
    fmt::format_to(add, "\n{} {} {:a} {} {}", int(command.kind), command.call,
                   cost.seconds(command), command.phase - first, command.dtype);
    if (command.kind == CommandKind::Collective)
      fmt::format_to(add, " {} {}", int(command.collective.kind),
                     fmt::join(command.collective.axes, ","));
    for (const PlanAccess &access : command.accesses)
      fmt::format_to(add, " {}{}:{},{},{},{}", access.isWrite ? "w" : "r",
                     access.buffer, access.part.begin, access.part.length,
                     access.part.count, access.part.pitch);
  }
  return key;
}
