/// Algorithms for the OverlapProblem. Each returns a schedule that verify()
/// accepts.
#ifndef TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
#define TPSP_SCHEDULE_OVERLAPSCHEDULERS_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// List scheduling (Graham 1966) in O(n log n). An idle stream starts the ready
/// command with the longest chain behind it that memory has room for. On stream
/// 0 that alone would put off all work that nobody waits for (weight gradients)
/// to the end of the step. All that it reads would be kept until then. So no
/// more than `reserve` seconds of ready work are put off; beyond, the oldest in
/// the problem's order goes first. 0 is the problem's own order wherever that
/// does not idle.
OverlapSchedule scheduleList(const OverlapProblem &problem, double reserve);

/// List schedules for a few reserves, from none to several times the longest
/// communication. Each is tried with a few bounds on how early a command may
/// come before what needs it. The large ones are tried too with tails that know
/// of busy links, which send gradients as early as they can. The fastest first;
/// of equals (half a per cent) the one that puts off least.
std::vector<OverlapSchedule> scheduleVariants(const OverlapProblem &problem);

/// The first of them.
OverlapSchedule scheduleList(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
