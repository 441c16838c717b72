/// Places the buffers of a plan in one arena.
#ifndef TPSP_SCHEDULE_ARENAPLAN_H
#define TPSP_SCHEDULE_ARENAPLAN_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

struct ArenaPlan {
  /// Per buffer, its offset in bytes; nullopt for a temporary that nothing
  /// uses.
  std::vector<std::optional<int64_t>> offsets;
  int64_t bytes = 0;
};

/// Buffers that last come first; temporaries share the space after them. With
/// several streams, a buffer may reuse another's bytes only after the other's
/// last users. Streams and events must ensure that these have ended before its
/// own first users begin.
///
/// Temporaries are placed by best fit in the order of issue, in near-linear
/// time. If that leaves gaps, large temporaries are also placed by size, and
/// the smaller of the two arenas is taken.
///
/// A prologue's values stay until the last run of a segment that reads them has
/// ended.
ArenaPlan planArena(const Plan &plan, const HappensBefore &before);

/// Tells whether an arena of `most` bytes is enough. Returns at most `most` if
/// such an arena was found, else more. It stops at the first answer. The live
/// bytes alone reject a plan, and an arena in the order of issue accepts it.
/// Buffers are placed by size only between the two. The arena of planArena() is
/// no larger than the arena that is found here.
int64_t arenaBytesWithin(int64_t most, const Plan &plan,
                         const HappensBefore &before);

} // namespace tpsp

#endif // TPSP_SCHEDULE_ARENAPLAN_H
