/// Algorithms for the OverlapProblem. Each returns a schedule that verify()
/// accepts.
#ifndef TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
#define TPSP_SCHEDULE_OVERLAPSCHEDULERS_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// One command after another in the problem's order, as if there were one
/// stream.
OverlapSchedule scheduleSerial(const OverlapProblem &problem);

/// List scheduling (Graham 1966) in O(n log n): whenever a stream is idle it
/// starts the ready command with the longest chain behind it. On stream 0 that
/// alone would put off all work that nobody waits for (weight gradients) to the
/// end of the step, with all that it reads kept until then. So no more than
/// `reserve` seconds of ready work are put off; beyond, the oldest in the
/// problem's order goes first. 0 is the problem's own order wherever that does
/// not idle.
OverlapSchedule scheduleList(const OverlapProblem &problem, double reserve);

/// The best of scheduleList for a few reserves, from none to several times the
/// longest communication, and of the same where communication keeps to an order
/// in which it idles for what is urgent; of equals (within half a per cent) the
/// one that puts off least.
OverlapSchedule scheduleList(const OverlapProblem &problem);

/// The optimum, by branch and bound over the orders in which commands can
/// start. Exponential: for at most `maxExactCommands`, none of whose pools can
/// run full.
inline constexpr size_t maxExactCommands = 12;
OverlapSchedule scheduleExact(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
