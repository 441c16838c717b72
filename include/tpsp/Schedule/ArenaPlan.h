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

/// Buffers that last come first. Temporaries share what follows, each from the
/// first command that uses it, in the order of issue, to the last, by best fit.
/// On several streams a buffer gets another's bytes only if the other's last
/// users have ended, by streams and events, before its own first ones begin.
/// Near-linear in the number of commands.
ArenaPlan planArena(const Plan &plan, const HappensBefore &before);

} // namespace tpsp

#endif // TPSP_SCHEDULE_ARENAPLAN_H
