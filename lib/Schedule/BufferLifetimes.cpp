#include "BufferLifetimes.h"

#include "tpsp/Abi/LiveBytes.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace tpsp;

BufferLifetimes::BufferLifetimes(const Plan &plan, const HappensBefore &before)
    : plan(plan), lifetimes(plan.buffers.size()) {
  for (auto [i, command] : llvm::enumerate(plan.commands))
    for (const PlanAccess &access : command.accesses)
      noteUse(lifetimes[access.buffer], i, before);
  for (auto [i, buffer] : llvm::enumerate(plan.buffers))
    if (lifetimes[i].isUsed())
      extend(lifetimes[i], buffer);
  findUpcoming(before);
}

/// Extends the lifetime of a buffer that other segments use, too.
void BufferLifetimes::extend(Lifetime &lifetime,
                             const PlanBuffer &buffer) const {
  if (buffer.livesBefore) {
    lifetime.first = 0;
    lifetime.before.assign(plan.numStreams, 0);
  }
  if (buffer.livesAfter) {
    lifetime.last = int64_t(plan.commands.size()) - 1;
    lifetime.after.assign(plan.numStreams, std::numeric_limits<int64_t>::max());
  }
}

void BufferLifetimes::noteUse(Lifetime &lifetime, int64_t command,
                              const HappensBefore &before) {
  const StreamClock &clock = before.clockOf(command);
  if (!lifetime.isUsed()) {
    lifetime.first = command;
    lifetime.before = clock;
    lifetime.after.assign(plan.numStreams, 0);
  }
  lifetime.last = command;
  lowerTo(lifetime.before, clock);
  HappensBefore::StreamPosition position = before.positionOf(command);
  int64_t &ended = lifetime.after[position.stream];
  ended = std::max(ended, position.number + 1);
}

void BufferLifetimes::findUpcoming(const HappensBefore &before) {
  StreamClock clock(plan.numStreams, std::numeric_limits<int64_t>::max());
  upcomingClocks.assign(plan.commands.size(), clock);
  // Takes the minimum over all later commands. Clocks only grow along a stream,
  // so each stream's next command decides.
  for (size_t i = plan.commands.size(); i-- > 0;) {
    lowerTo(clock, before.clockOf(i));
    upcomingClocks[i] = clock;
  }
}

int64_t BufferLifetimes::peakBytes() const {
  LiveBytes live;
  for (size_t i = 0; i < lifetimes.size(); ++i)
    if (isTemporary(i))
      live.add(lifetimes[i].first, lifetimes[i].last, plan.buffers[i].bytes);
  return live.most();
}
