#include "tpsp/Runtime/Driver/Comparison/NotFiniteWatch.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

struct Seen {
  bool nan = false, infinity = false;
};

/// Checks the numbers in the part of a buffer that a command has written.
void look(const std::byte *arena, const PlanBuffer &buffer,
          const BufferPart &part, Seen &seen) {
  if (isInteger(buffer.dtype))
    return;
  int64_t bytes = elementBytes(buffer.dtype);
  for (int64_t run = 0; run < part.count; ++run) {
    const std::byte *begin =
        arena + *buffer.offset + part.begin + run * part.pitch;
    for (int64_t i = 0; i < part.length / bytes; ++i) {
      double x = loadNumber(begin, buffer.dtype, i);
      seen.nan |= std::isnan(x);
      seen.infinity |= std::isinf(x);
    }
  }
}

void lower(std::atomic<int64_t> &first, int64_t command) {
  int64_t now = first.load();
  while (command < now && !first.compare_exchange_weak(now, command)) {
  }
}

} // namespace

bool NotFiniteWatch::begin(World &world) {
  arenas.assign(plan.numRanks(), nullptr);
  firsts = std::vector<First>(plan.numRanks());
  for (First &first : firsts)
    first.nan = first.infinity = int64_t(plan.commands.size());
  Status status = world.run([&](Rank &rank) {
    arenas[rank.number()] = static_cast<const std::byte *>(rank.hostAddress(0));
    return Status();
  });
  watches = status.ok() && std::any_of(arenas.begin(), arenas.end(),
                                       [](const void *arena) { return arena; });
  return watches;
}

std::vector<std::string> NotFiniteWatch::end() {
  std::vector<std::string> lines;
  if (!watches)
    return lines;
  watches = false;
  for (std::string line : {describe(&First::nan, "a NaN"),
                           describe(&First::infinity, "an infinity")})
    if (!line.empty())
      lines.push_back(std::move(line));
  return lines;
}

std::string NotFiniteWatch::describe(std::atomic<int64_t> First::*which,
                                     const char *number) const {
  int64_t none = plan.commands.size(), command = none, on = 0;
  for (size_t rank = 0; rank < firsts.size(); ++rank)
    if (int64_t first = (firsts[rank].*which).load(); first < command) {
      command = first;
      on = static_cast<int64_t>(rank);
    }
  if (command == none)
    return "";
  const PlanCommand &found = plan.commands[command];
  // A kernel may do several operations; its place is that of the first.
  bool isKernel = found.kind == CommandKind::Kernel;
  std::string at = found.location.empty() ? ""
                   : isKernel ? fmt::format(" (from {} on)", found.location)
                              : fmt::format(" ({})", found.location);
  return fmt::format("rank {}: {}{} is the first command that writes {}", on,
                     found.name(), at, number);
}

void NotFiniteWatch::ran(int64_t rank, const tpsp_rt_command &command,
                         Time begin, Time end) {
  if (next)
    next->ran(rank, command, begin, end);
  if (!watches || !arenas[rank])
    return;
  Seen seen;
  for (const PlanAccess &access : plan.commands[command.id].accesses)
    if (access.isWrite && plan.buffers[access.buffer].offset)
      look(arenas[rank], plan.buffers[access.buffer], access.part, seen);
  if (seen.nan)
    lower(firsts[rank].nan, command.id);
  if (seen.infinity)
    lower(firsts[rank].infinity, command.id);
}
