/// The plan's calls of attention, as the planner sees them.
#ifndef TPSP_PASSES_PLAN_PLANATTENTION_H
#define TPSP_PASSES_PLAN_PLANATTENTION_H

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Schedule/Step.h"

namespace tpsp {

/// What `op` does, if it is a call of attention, forward or backward.
std::optional<AttentionWork> attentionWork(mlir::Operation *op);

} // namespace tpsp

#endif // TPSP_PASSES_PLAN_PLANATTENTION_H
