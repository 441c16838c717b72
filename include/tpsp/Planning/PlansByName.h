/// Plans by their names: usual names ("FSDP 8") or subscripts.
#ifndef TPSP_PLANNING_PLANSBYNAME_H
#define TPSP_PLANNING_PLANSBYNAME_H

#include "tpsp/Planning/Planning.h"

namespace tpsp {

/// The plan of this name; it lives as long as `planning`. Fails with a sentence
/// if there is none, or if it is illegal.
llvm::Expected<const planner::Evaluation *> planNamed(const Planning &planning,
                                                      const std::string &name);

/// Evaluates one plan by its name (PlanningRequest::named), whether or not it
/// fits. Fails as planProgram() and planNamed() do.
llvm::Expected<planner::Evaluation> evaluatePlan(mlir::MLIRContext &context,
                                                 PlanningRequest request,
                                                 const std::string &name);

} // namespace tpsp

#endif // TPSP_PLANNING_PLANSBYNAME_H
