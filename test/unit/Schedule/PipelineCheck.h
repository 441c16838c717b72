/// What schedules of the PipelineProblem are held against.
#ifndef TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H
#define TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H

#include "tpsp/Schedule/PipelineProblem.h"

namespace tpsp {

/// Whether every command is there once, dependences and bounds are kept, and no
/// stage and no link does two things at once. The first thing that is wrong, as
/// a sentence; nullopt if nothing is.
std::optional<std::string> verify(const PipelineProblem &problem,
                                  const PipelineSchedule &schedule);

} // namespace tpsp

#endif // TPSP_TEST_UNIT_SCHEDULE_PIPELINECHECK_H
