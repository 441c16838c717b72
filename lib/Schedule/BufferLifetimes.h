/// When, by streams and events, the buffers of a step are in use.
#ifndef TPSP_SCHEDULE_BUFFERLIFETIMES_H
#define TPSP_SCHEDULE_BUFFERLIFETIMES_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

class BufferLifetimes {
public:
  struct Lifetime {
    /// The first and the last command that use it, in the order of issue; -1 if
    /// none does.
    int64_t first = -1, last = -1;
    /// What has ended before any user begins; what has when all users have.
    StreamClock before, after;

    bool isUsed() const { return first >= 0; }
  };

  /// Both arguments outlive this.
  BufferLifetimes(const Plan &plan, const HappensBefore &before);

  const Lifetime &of(int64_t buffer) const { return lifetimes[buffer]; }
  /// What has ended before a command and all later ones begin.
  const StreamClock &upcoming(int64_t command) const {
    return upcomingClocks[command];
  }
  /// Whether `later`, whose first user is issued behind the first of `earlier`,
  /// may have the same bytes.
  bool mayFollow(int64_t earlier, int64_t later) const {
    return isCovered(lifetimes[earlier].after, lifetimes[later].before);
  }
  /// Whether a buffer is in use that does not last.
  bool isTemporary(int64_t buffer) const {
    return !plan.buffers[buffer].lasts() && lifetimes[buffer].isUsed();
  }
  /// The most bytes that temporaries take at one command, each from its first
  /// user to its last: no arena has fewer for them.
  int64_t peakBytes() const;

private:
  void noteUse(Lifetime &lifetime, int64_t command,
               const HappensBefore &before);
  void findUpcoming(const HappensBefore &before);

  const Plan &plan;
  std::vector<Lifetime> lifetimes;
  std::vector<StreamClock> upcomingClocks;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_BUFFERLIFETIMES_H
