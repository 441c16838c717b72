/// The chain of commands that a pipeline's time is made of.
#ifndef TPSP_SCHEDULE_PIPELINEPATH_H
#define TPSP_SCHEDULE_PIPELINEPATH_H

#include "tpsp/Schedule/PipelineProblem.h"

#include <cstddef>
#include <vector>

namespace tpsp {

/// The chain that ends with the command at position `last` of the schedule's
/// commands, as positions in the order of time. A command waits for the one
/// before it on its stage, or among the stage's sends, and for those whose
/// results it reads. The chain takes the one of these that ends last.
std::vector<size_t> criticalCommands(const PipelineProblem &problem,
                                     const PipelineSchedule &schedule,
                                     size_t last);

} // namespace tpsp

#endif // TPSP_SCHEDULE_PIPELINEPATH_H
