/// Places buffers of a step, the largest first.
///
/// In the order of issue, a small buffer takes a part of the room that a large
/// buffer has left. The next large buffer then finds none. Here large buffers
/// choose first. Each later buffer takes the first gap between the buffers that
/// are in use together with it. Then the buffers that found no room below a
/// target move to the front, and all are placed again, a few times. In steps of
/// 32 layers, arenas by issue were 1.07 to 1.24 times the bytes in use at once.
/// By size they were 1.00 to 1.02 times.
#ifndef TPSP_SCHEDULE_SIZEORDEREDARENA_H
#define TPSP_SCHEDULE_SIZEORDEREDARENA_H

#include "BufferLifetimes.h"

#include <optional>

namespace tpsp {

/// Ends of the arena, in bytes, that guide the tries of placeBySize().
struct ArenaGoal {
  /// No smaller end exists. In the next try buffers that end beyond it are
  /// placed first.
  int64_t least = 0;
  /// The tries stop at an end of at most `enough`, and at an end of more than
  /// `hopeless`.
  int64_t enough = 0, hopeless = 0;
};

/// Sets `offsets`, one per buffer, for the temporaries of at least
/// `leastBytes`, from `base` on. Returns the end of the last of them. Takes
/// time linear in the pairs of buffers in use together. If buffers have at
/// least 1 / p of the step's peak, each is in at most p pairs.
int64_t placeBySize(const Plan &plan, const BufferLifetimes &lifetimes,
                    int64_t leastBytes, int64_t base, const ArenaGoal &goal,
                    std::vector<std::optional<int64_t>> &offsets);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SIZEORDEREDARENA_H
