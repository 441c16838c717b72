/// Where the buffers of a plan lie in one arena.
#ifndef TPSP_SCHEDULE_ARENAPLAN_H
#define TPSP_SCHEDULE_ARENAPLAN_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

struct ArenaPlan {
  /// Per buffer, in bytes; nullopt of a temporary that nothing uses.
  std::vector<std::optional<int64_t>> offsets;
  int64_t bytes = 0;
};

/// Buffers that last come first. Temporaries share what follows. On several
/// streams a buffer gets another's bytes only after the other's last users.
/// They must have ended, by streams and events, before its own first ones
/// begin.
///
/// Temporaries are placed by best fit in the order of issue, in near-linear
/// time. Where that leaves gaps, the large ones are placed by size as well, and
/// the smaller arena of the two is taken.
ArenaPlan planArena(const Plan &plan, const HappensBefore &before);

/// Whether an arena of `most` bytes is enough: at most `most` if one was found,
/// else more. It stops at the first answer. The live bytes alone reject a plan,
/// and an arena in the order of issue accepts it; buffers are placed by size
/// only between the two. planArena() finds an arena that is no larger than the
/// one that was found.
int64_t arenaBytesWithin(int64_t most, const Plan &plan,
                         const HappensBefore &before);

} // namespace tpsp

#endif // TPSP_SCHEDULE_ARENAPLAN_H
