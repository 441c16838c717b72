#include "tpsp/Schedule/ArenaPlan.h"

#include "tpsp/Algebra/ArenaLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace tpsp;

namespace {

/// Memory that commands of several streams share. A buffer may have another's
/// bytes only if the other's last users have ended, by streams and events,
/// before its own first ones begin.
class SharedArena {
public:
  struct Range {
    int64_t offset, bytes;
    /// What must have ended before the range may be used again.
    StreamClock users;
  };

  int64_t size() const { return layout.size(); }

  /// Memory that is never given back.
  int64_t allocateForGood(int64_t bytes) { return layout.allocate(bytes); }

  /// `ended`: what has ended whenever the buffer is touched.
  int64_t allocate(int64_t bytes, const StreamClock &ended) {
    // What may be used by this buffer, though not yet by all, joins the free
    // ranges for the moment.
    llvm::SmallVector<Range> usable;
    llvm::erase_if(waiting, [&](const Range &range) {
      if (!isCovered(range.users, ended))
        return false;
      usable.push_back(range);
      return true;
    });
    for (const Range &range : usable)
      layout.release(range.offset, range.bytes);
    int64_t begin = layout.allocate(bytes);
    int64_t end = begin + ArenaLayout::rounded(bytes);
    for (const Range &range : usable) {
      int64_t rangeEnd = range.offset + range.bytes;
      keepWaiting(range.offset, std::min(rangeEnd, begin), range.users);
      keepWaiting(std::max(range.offset, end), rangeEnd, range.users);
    }
    return begin;
  }

  void release(int64_t offset, int64_t bytes, StreamClock users) {
    waiting.push_back({offset, ArenaLayout::rounded(bytes), std::move(users)});
  }

  /// Nothing that is still to be allocated is touched before this has ended.
  void advance(const StreamClock &ended) {
    llvm::erase_if(waiting, [&](const Range &range) {
      if (!isCovered(range.users, ended))
        return false;
      layout.release(range.offset, range.bytes);
      return true;
    });
  }

private:
  void keepWaiting(int64_t begin, int64_t end, const StreamClock &users) {
    if (begin >= end)
      return;
    layout.take(begin, end - begin);
    waiting.push_back({begin, end - begin, users});
  }

  ArenaLayout layout;
  /// Given back, but not yet free for everyone.
  std::vector<Range> waiting;
};

class Allocator {
public:
  Allocator(const Plan &plan, const HappensBefore &before)
      : plan(plan), before(before), uses(plan.buffers.size()),
        remaining(plan.buffers.size(), 0) {
    result.offsets.resize(plan.buffers.size());
    for (auto [i, command] : llvm::enumerate(plan.commands))
      for (const PlanAccess &access : command.accesses)
        noteUse(access.buffer, i);
    findUpcoming();
  }

  ArenaPlan run() {
    for (auto [buffer, offset] : llvm::zip_equal(plan.buffers, result.offsets))
      if (buffer.lasts())
        offset = arena.allocateForGood(buffer.bytes);
    for (size_t i = 0; i < plan.commands.size(); ++i)
      visit(i);
    result.bytes = arena.size();
    return std::move(result);
  }

private:
  struct Uses {
    /// What has ended before any user begins; after that of all users.
    StreamClock before, after;
  };

  void noteUse(int64_t buffer, int64_t command) {
    Uses &use = uses[buffer];
    const StreamClock &clock = before.clockOf(command);
    if (remaining[buffer]++ == 0) {
      use.before = clock;
      use.after.assign(plan.numStreams, 0);
    }
    lowerTo(use.before, clock);
    HappensBefore::Place place = before.placeOf(command);
    use.after[place.stream] =
        std::max(use.after[place.stream], place.number + 1);
  }

  /// For each command, what has ended before it and all later ones begin.
  void findUpcoming() {
    StreamClock clock(plan.numStreams, std::numeric_limits<int64_t>::max());
    upcoming.assign(plan.commands.size(), clock);
    // A stream's later commands know at least what its next one knows.
    for (size_t i = plan.commands.size(); i-- > 0;) {
      lowerTo(clock, before.clockOf(i));
      upcoming[i] = clock;
    }
  }

  /// All of a command's buffers live while it runs.
  void visit(int64_t command) {
    arena.advance(upcoming[command]);
    const std::vector<PlanAccess> &accesses = plan.commands[command].accesses;
    for (const PlanAccess &access : accesses)
      if (std::optional<int64_t> &offset = result.offsets[access.buffer];
          !offset)
        offset = arena.allocate(plan.buffers[access.buffer].bytes,
                                uses[access.buffer].before);
    for (const PlanAccess &access : accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      if (--remaining[access.buffer] == 0 && !buffer.lasts())
        arena.release(*result.offsets[access.buffer], buffer.bytes,
                      uses[access.buffer].after);
    }
  }

  const Plan &plan;
  const HappensBefore &before;
  ArenaPlan result;
  std::vector<Uses> uses;
  std::vector<int64_t> remaining; // accesses that have not been visited
  std::vector<StreamClock> upcoming;
  SharedArena arena;
};

} // namespace

ArenaPlan tpsp::planArena(const Plan &plan, const HappensBefore &before) {
  return Allocator(plan, before).run();
}
