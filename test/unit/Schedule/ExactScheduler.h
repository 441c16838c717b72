/// Schedules with which those of the OverlapProblem are compared.
#ifndef TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H
#define TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// Runs one command after another in the problem's order, as on one stream.
OverlapSchedule scheduleSerial(const OverlapProblem &problem);

/// Finds the optimum by branch and bound over the orders in which commands can
/// start. The time is exponential, so it takes at most `maxExactCommands`
/// commands, without buffers.
inline constexpr size_t maxExactCommands = 12;
OverlapSchedule scheduleExact(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_SCHEDULE_EXACTSCHEDULER_H
