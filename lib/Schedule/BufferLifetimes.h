/// The lifetimes of a step's buffers, as ordered by streams and events.
#ifndef TPSP_SCHEDULE_BUFFERLIFETIMES_H
#define TPSP_SCHEDULE_BUFFERLIFETIMES_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

class BufferLifetimes {
public:
  struct Lifetime {
    /// The first and the last command that use it, in the order of issue; -1 if
    /// none does. If it lives before or after the plan's commands, the plan's
    /// first or last command.
    int64_t first = -1, last = -1;
    /// The commands that have ended before any user begins, and those that have
    /// ended when all users have.
    StreamClock before, after;

    bool isUsed() const { return first >= 0; }
  };

  /// Both arguments must outlive this object.
  BufferLifetimes(const Plan &plan, const HappensBefore &before);

  const Lifetime &of(int64_t buffer) const { return lifetimes[buffer]; }
  /// The commands that have ended before `command` and all later commands
  /// begin.
  const StreamClock &upcoming(int64_t command) const {
    return upcomingClocks[command];
  }
  /// Whether `later` may reuse the bytes of `earlier`. The first user of
  /// `later` must be issued after the first user of `earlier`.
  bool mayFollow(int64_t earlier, int64_t later) const {
    return isCovered(lifetimes[earlier].after, lifetimes[later].before);
  }
  /// Whether the buffer is a temporary with users.
  bool isTemporary(int64_t buffer) const {
    return !plan.buffers[buffer].lasts() && lifetimes[buffer].isUsed();
  }
  /// The most bytes of temporaries at one command, each counted from its first
  /// user to its last. No arena needs fewer bytes for them.
  int64_t peakBytes() const;

private:
  void noteUse(Lifetime &lifetime, int64_t command,
               const HappensBefore &before);
  void extend(Lifetime &lifetime, const PlanBuffer &buffer) const;
  void findUpcoming(const HappensBefore &before);

  const Plan &plan;
  std::vector<Lifetime> lifetimes;
  std::vector<StreamClock> upcomingClocks;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_BUFFERLIFETIMES_H
