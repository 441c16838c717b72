// The texts of --export.
#ifndef TPSP_TOOLS_TPSP_PLAN_PLANEXPORT_H
#define TPSP_TOOLS_TPSP_PLAN_PLANEXPORT_H

#include "Options.h"

#include "tpsp/Planner/Export.h"
#include "tpsp/Planning/Planning.h"

namespace tpsp::plantool {

/// Who reads the plans: the target of --for.
planner::Reader readerOf(const Options &options);

/// Exports the best plan that the target of --export can express. Without --for
/// it may be a later plan of the table. The head then names it, with its cost
/// against plan 1, and the reason why plan 1 cannot be exported. Requires a
/// best plan.
planner::Exported exportBest(const Options &options, const Planning &planning);

/// The plan whose program -o writes: the exported plan if there is one, else
/// plan 1. It is owned by `planning`, which must have a best plan.
const planner::Evaluation &writtenPlan(const Options &options,
                                       const Planning &planning);

} // namespace tpsp::plantool

#endif // TPSP_TOOLS_TPSP_PLAN_PLANEXPORT_H
