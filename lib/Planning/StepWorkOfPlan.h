/// The work of a compiled step, in the terms of the planner's bounds.
#ifndef TPSP_PLANNING_STEPWORKOFPLAN_H
#define TPSP_PLANNING_STEPWORKOFPLAN_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Planner/ProgramFacts.h"
#include "tpsp/Planner/StepWork.h"
#include "tpsp/Schedule/Hardware.h"

namespace tpsp {

/// Counts products by their extents, attentions, and the least seconds of
/// kernels on `machine`, of a step whose program has `facts`.
planner::StepWork workOf(const Plan &plan, const Hardware &machine,
                         const planner::ProgramFacts &facts);

} // namespace tpsp

#endif // TPSP_PLANNING_STEPWORKOFPLAN_H
