/// Proves that a step's commands, on their streams and in their memory, compute
/// the program's values on every run.
#ifndef TPSP_SCHEDULE_SCHEDULEPROOF_H
#define TPSP_SCHEDULE_SCHEDULEPROOF_H

#include "tpsp/Schedule/HappensBefore.h"

namespace tpsp {

/// Proves of an allocated step, which every rank runs, that
///  - any two commands that touch the same bytes of the arena, one of them
///    writing, are ordered by streams and events;
///  - every read finds the buffer's own bytes, all of them written, and not
///    those of another buffer in the same place; the same holds for results at
///    the end;
///  - nothing writes an argument, and nothing lies outside the arena;
///  - every wait has a record, and nothing waits in a circle;
///  - the collectives of a communicator run in one order, the same on all
///    ranks.
/// Returns the first fault, or nullopt. Takes time linear in commands and
/// accesses, apart from logarithms and the number of parts of a buffer.
std::optional<StepFault> proveSchedule(const Plan &plan);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SCHEDULEPROOF_H
