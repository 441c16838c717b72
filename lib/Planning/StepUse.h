/// Sums up a step's time by kinds of commands and by links.
#ifndef TPSP_PLANNING_STEPUSE_H
#define TPSP_PLANNING_STEPUSE_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Schedule/Simulator.h"

namespace tpsp {

/// Adds `times` the commands of the plan, as they ran in `step`, to the
/// evaluation's seconds, except to the seconds of the step itself.
void addUse(const Plan &plan, const SimulatedStep &step, const CostModel &cost,
            double times, planner::Evaluation &out);

} // namespace tpsp

#endif // TPSP_PLANNING_STEPUSE_H
