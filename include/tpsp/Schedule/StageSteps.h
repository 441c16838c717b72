/// The step of each stage's ranks, written out as commands of one segment.
#ifndef TPSP_SCHEDULE_STAGESTEPS_H
#define TPSP_SCHEDULE_STAGESTEPS_H

#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Schedule/IssueOrder.h"

namespace tpsp {

class StageSteps {
public:
  /// Reads a plan with stages once, for all of them. The steps have the first
  /// `microBatches` - 1 micro-batches and the last one; at most as many as the
  /// plan has.
  StageSteps(const Plan &plan, int64_t microBatches);

  /// The step of one stage, with the waits of its streams for each other
  /// (Abi/StepOrder.h). It has only buffers that the stage has, and no ledger.
  /// Commands of events that the plan lacks are number -1 of the plan. Linear
  /// in the step and in the number of the plan's buffers.
  WrittenOutStep of(int64_t stage) const;

private:
  const Plan plan;
  const std::vector<StepOrder> orders;
  /// Whether a temporary lives within one run of one segment that computes.
  std::vector<bool> isScratch;
  /// For each segment, the numbers of its commands.
  std::vector<std::vector<int64_t>> commandsOf;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_STAGESTEPS_H
