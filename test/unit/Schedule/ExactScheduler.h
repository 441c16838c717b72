/// What schedules of the OverlapProblem are compared with.
#ifndef TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H
#define TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// One command after another in the problem's order, as if there were one
/// stream.
OverlapSchedule scheduleSerial(const OverlapProblem &problem);

/// The optimum, by branch and bound over the orders in which commands can
/// start. Exponential: for at most `maxExactCommands`, without buffers.
inline constexpr size_t maxExactCommands = 12;
OverlapSchedule scheduleExact(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H
