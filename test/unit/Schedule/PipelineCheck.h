/// A check of schedules of the PipelineProblem.
#ifndef TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H
#define TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H

#include "tpsp/Schedule/PipelineProblem.h"

namespace tpsp {

/// Checks that every command runs once, that dependences and bounds are kept,
/// and that no stage or link does two things at once. Returns the first error
/// as a sentence; nullopt if there is none.
std::optional<std::string> verify(const PipelineProblem &problem,
                                  const PipelineSchedule &schedule);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H
