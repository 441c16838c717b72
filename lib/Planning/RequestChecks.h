// Checks of a request, after its program is known.
#ifndef TPSP_LIB_PLANNING_REQUESTCHECKS_H
#define TPSP_LIB_PLANNING_REQUESTCHECKS_H

#include "tpsp/Planning/Planning.h"

namespace tpsp {

/// Checks that the planner has something to place.
llvm::Error checkFree(const PlanningRequest &request,
                      const planner::ProgramFacts &facts);

/// Checks that requested or written stages have at least as many micro-batches,
/// and a layer for each chunk.
llvm::Error checkStages(const PlanningRequest &request,
                        const planner::ProgramFacts &facts);

/// Drops settings that the target cannot express. Fails if none is left.
llvm::Error keepTaken(PlanningRequest &request,
                      const planner::ProgramFacts &facts);

} // namespace tpsp

#endif // TPSP_LIB_PLANNING_REQUESTCHECKS_H
