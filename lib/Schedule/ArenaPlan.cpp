#include "tpsp/Schedule/ArenaPlan.h"

#include "SizeOrderedArena.h"

#include "tpsp/Algebra/ArenaLayout.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

/// Memory that commands of several streams share. A buffer may reuse another's
/// bytes only if the other's last users have ended, by streams and events,
/// before its own first users begin.
class SharedArena {
public:
  struct Range {
    int64_t offset, bytes;
    /// The commands that must have ended before the range may be reused.
    StreamClock users;
  };

  int64_t size() const { return layout.size(); }

  /// `ended`: the commands that have ended whenever the buffer is touched.
  int64_t allocate(int64_t bytes, const StreamClock &ended) {
    // Ranges that this buffer may reuse, though not every buffer may, join the
    // free ranges for this allocation.
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

  /// Frees ranges for good. No buffer that is still to be allocated is touched
  /// before the commands of `ended` have ended.
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
  /// Released ranges that not every buffer may reuse yet.
  std::vector<Range> waiting;
};

/// Allocates buffers by best fit, each when its first user is issued.
class IssueOrder {
public:
  IssueOrder(const Plan &plan, const BufferLifetimes &lifetimes)
      : plan(plan), lifetimes(lifetimes), remaining(plan.buffers.size(), 0) {
    for (const PlanCommand &command : plan.commands)
      for (const PlanAccess &access : command.accesses)
        ++remaining[access.buffer];
  }

  /// Places the buffers without an offset, from `base` on. Returns the end.
  int64_t run(int64_t base, std::vector<std::optional<int64_t>> &offsets) {
    std::vector<bool> isGiven;
    for (auto [i, offset] : llvm::enumerate(offsets)) {
      isGiven.push_back(offset.has_value());
      const PlanBuffer &buffer = plan.buffers[i];
      if (!offset && buffer.livesBefore && lifetimes.isTemporary(int64_t(i)))
        offset = base +
                 arena.allocate(buffer.bytes, lifetimes.of(int64_t(i)).before);
    }
    for (size_t i = 0; i < plan.commands.size(); ++i)
      visit(i, base, isGiven, offsets);
    return base + arena.size();
  }

private:
  /// Allocates all of a command's buffers before it releases any, because all
  /// live while the command runs.
  void visit(int64_t command, int64_t base, const std::vector<bool> &isGiven,
             std::vector<std::optional<int64_t>> &offsets) {
    arena.advance(lifetimes.upcoming(command));
    const std::vector<PlanAccess> &accesses = plan.commands[command].accesses;
    for (const PlanAccess &access : accesses)
      if (std::optional<int64_t> &offset = offsets[access.buffer]; !offset)
        offset = base + arena.allocate(plan.buffers[access.buffer].bytes,
                                       lifetimes.of(access.buffer).before);
    for (const PlanAccess &access : accesses)
      if (--remaining[access.buffer] == 0 && !isGiven[access.buffer] &&
          !plan.buffers[access.buffer].livesAfter)
        arena.release(*offsets[access.buffer] - base,
                      plan.buffers[access.buffer].bytes,
                      lifetimes.of(access.buffer).after);
  }

  const Plan &plan;
  const BufferLifetimes &lifetimes;
  std::vector<int64_t> remaining; // accesses that have not been visited
  SharedArena arena;
};

/// Places the buffers that last, from 0 on.
ArenaPlan lastingOf(const Plan &plan) {
  ArenaPlan arena;
  for (const PlanBuffer &buffer : plan.buffers) {
    arena.offsets.emplace_back();
    if (!buffer.lasts())
      continue;
    arena.offsets.back() = arena.bytes;
    arena.bytes += ArenaLayout::rounded(buffer.bytes);
  }
  return arena;
}

/// The two ways to lay out an arena, and a lower bound of its bytes.
class ArenaPacker {
public:
  ArenaPacker(const Plan &plan, const HappensBefore &before)
      : plan(plan), lifetimes(plan, before), lasting(lastingOf(plan)),
        peak(lifetimes.peakBytes()) {}

  /// Whether an arena's gaps are too small for a second layout to pay.
  bool isTight(const ArenaPlan &arena) const {
    constexpr int64_t smallGap = 128;
    return arena.bytes <= leastBytes() + leastBytes() / smallGap;
  }

  int64_t lastingBytes() const { return lasting.bytes; }
  int64_t leastBytes() const { return lasting.bytes + peak; }

  ArenaPlan byIssue() const {
    ArenaPlan arena = lasting;
    arena.bytes = IssueOrder(plan, lifetimes).run(arena.bytes, arena.offsets);
    return arena;
  }

  /// Large buffers are placed by size, and small buffers after them. An arena
  /// of at most `enough` bytes is not improved. An arena that exceeds that by
  /// more than `most` bytes is not improved either.
  ArenaPlan bySize(int64_t enough, int64_t most) const {
    // Buffers smaller than the peak divided by this leave small gaps.
    constexpr int64_t smallBuffer = 1024;
    ArenaPlan arena = lasting;
    int64_t large = peak / smallBuffer, base = arena.bytes;
    std::vector<std::optional<int64_t>> small = smallOffsets(large);
    int64_t smallBytes = IssueOrder(plan, lifetimes).run(0, small);
    ArenaGoal goal{leastBytes(), std::max(enough - smallBytes, leastBytes())};
    goal.hopeless = goal.enough + most;
    int64_t end =
        placeBySize(plan, lifetimes, large, base, goal, arena.offsets);
    for (auto [i, offset] : llvm::enumerate(arena.offsets))
      if (!offset && plan.buffers[i].bytes < large && small[i])
        offset = end + *small[i];
    arena.bytes = end + smallBytes;
    return arena;
  }

private:
  /// Offsets for all but small temporaries, so that IssueOrder places only
  /// these.
  std::vector<std::optional<int64_t>> smallOffsets(int64_t large) const {
    std::vector<std::optional<int64_t>> offsets = lasting.offsets;
    for (auto [i, buffer] : llvm::enumerate(plan.buffers))
      if (!buffer.lasts() && buffer.bytes >= large)
        offsets[i] = 0;
    return offsets;
  }

  const Plan &plan;
  const BufferLifetimes lifetimes;
  const ArenaPlan lasting;
  const int64_t peak;
};

/// Keeps values that the prologue makes for the micro-batches until the last of
/// these has ended. The last command of each segment that runs several times
/// counts as a reader of what the segment reads.
Plan withLastReaders(const Plan &plan) {
  Plan result = plan;
  std::vector<int64_t> last(plan.segments.size(), -1);
  for (auto [i, command] : llvm::enumerate(plan.commands))
    last[command.segment] = int64_t(i);
  std::vector<bool> isMade(plan.buffers.size());
  // For each buffer, the latest segment that reads it to its end.
  std::vector<int64_t> keptBy(plan.buffers.size(), -1);
  for (const PlanCommand &command : plan.commands) {
    const PlanSegment &segment = plan.segments[command.segment];
    for (const PlanAccess &access : command.accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      if (!segment.isOfMicroBatch() && segment.work == SegmentWork::Prologue)
        isMade[access.buffer] = !buffer.lasts();
      bool isKept = isMade[access.buffer] && segment.runsAgain() &&
                    keptBy[access.buffer] != command.segment;
      if (!isKept)
        continue;
      keptBy[access.buffer] = command.segment;
      result.commands[last[command.segment]].accesses.push_back(
          {access.buffer, {0, buffer.bytes}, /*isWrite=*/false});
    }
  }
  return result;
}

ArenaPlan planStep(const Plan &plan, const HappensBefore &before) {
  ArenaPacker packer(plan, before);
  ArenaPlan issued = packer.byIssue();
  if (packer.isTight(issued))
    return issued;
  ArenaPlan bySize = packer.bySize(packer.leastBytes(), /*most=*/issued.bytes);
  return bySize.bytes < issued.bytes ? bySize : issued;
}

} // namespace

ArenaPlan tpsp::planArena(const Plan &plan, const HappensBefore &before) {
  return plan.microBatches == 1 ? planStep(plan, before)
                                : planStep(withLastReaders(plan), before);
}

int64_t tpsp::arenaBytesWithin(int64_t most, const Plan &plan,
                               const HappensBefore &before) {
  ArenaPacker packer(plan, before);
  if (packer.leastBytes() > most)
    return packer.leastBytes();
  ArenaPlan issued = packer.byIssue();
  if (issued.bytes <= most || packer.isTight(issued))
    return issued.bytes;
  // Further tries by size rarely gain more than this part of the temporaries'
  // bytes.
  constexpr int64_t partGained = 32;
  int64_t gain = (most - packer.lastingBytes()) / partGained;
  return std::min(issued.bytes, packer.bySize(most, gain).bytes);
}
