#include "tpsp/Passes/Plan/PlanAttention.h"

using namespace mlir;
using namespace tpsp;

static AttentionWork workOf(const rt::AttentionCommand &call, bool isGradient) {
  return {call.batch * call.heads * call.groups,
          call.queries,
          call.keys,
          call.features,
          call.valueFeatures,
          call.causal,
          isGradient};
}

std::optional<AttentionWork> tpsp::attentionWork(Operation *op) {
  if (auto forward = dyn_cast<plan::AttentionOp>(op))
    return workOf(plan::commandOf(forward), /*isGradient=*/false);
  if (auto gradient = dyn_cast<plan::AttentionGradientOp>(op))
    return workOf(plan::commandOf(gradient), /*isGradient=*/true);
  return std::nullopt;
}
