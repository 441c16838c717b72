// A plan with stages as a rank of one stage sees it.
#include "tpsp/Abi/Plan.h"

using namespace tpsp;

/// Bytes that the forward pass of a micro-batch leaves to its backward pass.
static int64_t savedBytesOf(const Plan &plan) {
  std::vector<bool> isMade(plan.buffers.size()), isKept(plan.buffers.size());
  for (const PlanCommand &command : plan.commands) {
    SegmentWork work = plan.segments[command.segment].work;
    bool isBehind =
        work == SegmentWork::Backward || work == SegmentWork::Weights;
    for (const PlanAccess &access : command.accesses) {
      if (plan.buffers[access.buffer].pool < 0)
        continue;
      if (!isBehind && access.isWrite)
        isMade[access.buffer] = true;
      if (isBehind && isMade[access.buffer])
        isKept[access.buffer] = true;
    }
  }
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    bytes += isKept[i] ? plan.buffers[i].bytes : 0;
  return bytes;
}

Plan tpsp::stageView(const Plan &plan, int64_t stage) {
  Plan view = plan;
  view.viewedStage = stage;
  if (!plan.stageArenas.empty())
    view.arenaBytes = plan.stageArenas[stage];
  for (PlanBuffer &buffer : view.buffers) {
    if (buffer.isOfStage(stage))
      continue;
    buffer.kind = BufferKind::Temporary;
    buffer.offset.reset();
    buffer.bytes = 0;
  }
  view.savedBytes = savedBytesOf(view);
  return view;
}

std::vector<Plan> tpsp::stageViews(const Plan &plan) {
  if (plan.stageAxis < 0)
    return {plan};
  std::vector<Plan> views;
  for (int64_t stage = 0; stage < plan.numStages(); ++stage)
    views.push_back(stageView(plan, stage));
  return views;
}
