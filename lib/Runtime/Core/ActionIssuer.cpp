#include "ActionIssuer.h"

#include "RankContext.h"
#include "StageGroups.h"

#include <utility>

namespace tpsp::rt {

/// The id of commands that no plan has.
static constexpr int64_t noId = -1;

std::unique_ptr<ActionIssuer::EventIssue>
ActionIssuer::eventIssue(int64_t event, int64_t stream) {
  auto made = std::make_unique<EventIssue>();
  made->params = EventCommand{event}.encode();
  made->command = {};
  made->command.id = noId;
  made->command.stream = stream;
  made->command.params = made->params.data();
  made->command.num_params = int64_t(made->params.size());
  made->command.name = "the order of a step";
  return made;
}

std::vector<size_t> ActionIssuer::sendingFirst(const StepOrder &order,
                                               const Plan &plan) {
  std::vector<size_t> sequence;
  for (size_t i = 0; i < order.actions.size(); ++i) {
    const IssuedAction &action = order.actions[i];
    bool isSend =
        plan.segments[size_t(action.segment)].work == SegmentWork::Send;
    // The action before has its own place, another stream, and is not awaited.
    bool mayPass =
        isSend && i > 0 && sequence.back() == i - 1 &&
        order.actions[i - 1].stream != action.stream &&
        (action.waits.empty() || action.waits.back() != int64_t(i) - 1);
    sequence.push_back(i);
    if (mayPass)
      std::swap(sequence[i - 1], sequence[i]);
  }
  return sequence;
}

Status ActionIssuer::prepare(const tpsp_rt_rank &rank, const Plan &plan,
                             std::unique_ptr<Step> &out) {
  auto step = std::make_unique<Step>();
  int64_t stage = plan.stageAxis < 0 ? 0 : rank.coordinates[plan.stageAxis];
  step->order = StepOrder::of(plan, stage);
  if (plan.stageAxis >= 0)
    TPSP_TRY(stageGroups(plan, rank.world.mesh, rank.number, step->groups));
  step->sequence = sendingFirst(step->order, plan);
  int64_t first = eventOfAction(plan, 0);
  for (size_t i = 0; i < step->order.actions.size(); ++i) {
    const IssuedAction &action = step->order.actions[i];
    auto &waits = step->waits.emplace_back();
    for (int64_t before : action.waits)
      waits.push_back(eventIssue(first + before, action.stream));
    step->records.push_back(action.isAwaited
                                ? eventIssue(first + int64_t(i), action.stream)
                                : nullptr);
  }
  out = std::move(step);
  return {};
}

tpsp_rt_status ActionIssuer::issue(tpsp_rt_rank &rank, StepFunction issue,
                                   const Plan &plan) {
  std::unique_ptr<Step> &step = steps[issue];
  bool isFirst = !step;
  if (isFirst)
    if (Status status = prepare(rank, plan, step); !status.ok())
      return rank.fail(status);
  if (plan.stageAxis >= 0)
    if (Status status = rank.backend->beginOrder(step->groups, isFirst);
        !status.ok())
      return rank.fail(status);
  tpsp_rt_status status = TPSP_RT_OK;
  for (size_t n = 0; !status && n < step->sequence.size(); ++n) {
    size_t i = step->sequence[n];
    const IssuedAction &action = step->order.actions[i];
    if (plan.stageAxis >= 0) {
      rank.microBatch = action.microBatch;
      rank.segment = &plan.segments[size_t(action.segment)];
    }
    status = issueAction(rank, issue, *step, i);
  }
  // After a failure it stays, for the message.
  if (!status)
    rank.segment = nullptr;
  return status;
}

tpsp_rt_status ActionIssuer::issueAction(tpsp_rt_rank &rank, StepFunction issue,
                                         const Step &step, size_t number) {
  const IssuedAction &action = step.order.actions[number];
  rank.place = {};
  for (const std::unique_ptr<EventIssue> &wait : step.waits[number])
    if (tpsp_rt_status status = tpsp_rt_event_wait(&rank, &wait->command))
      return status;
  rank.place = {action.microBatch, &action.slots};
  if (tpsp_rt_status status = issue(&rank, action.segment))
    return status;
  rank.place = {};
  return step.records[number]
             ? tpsp_rt_event_record(&rank, &step.records[number]->command)
             : TPSP_RT_OK;
}

} // namespace tpsp::rt
