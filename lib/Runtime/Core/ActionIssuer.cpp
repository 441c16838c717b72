#include "ActionIssuer.h"

#include "RankContext.h"

#include <fmt/format.h>

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

std::unique_ptr<ActionIssuer::Step>
ActionIssuer::prepare(const tpsp_rt_rank &rank, const Plan &plan) {
  auto step = std::make_unique<Step>();
  int64_t stage = plan.stageAxis < 0 ? 0 : rank.coordinates[plan.stageAxis];
  step->order = StepOrder::of(plan, stage);
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
  return step;
}

tpsp_rt_status ActionIssuer::issue(tpsp_rt_rank &rank, StepFunction issue,
                                   const Plan &plan) {
  if (plan.stageAxis >= 0 && !rank.backend->allowsOwnOrders())
    return rank.fail(
        {TPSP_RT_UNSUPPORTED,
         fmt::format("the plan has {} stages, which the backend '{}' does not "
                     "run yet; give --backend cpu, or a mesh without an axis "
                     "of role stage",
                     plan.order.size(), rank.world.config.backend)});
  std::unique_ptr<Step> &step = steps[issue];
  if (!step)
    step = prepare(rank, plan);
  for (size_t i = 0; i < step->order.actions.size(); ++i) {
    const IssuedAction &action = step->order.actions[i];
    rank.place = {};
    for (const std::unique_ptr<EventIssue> &wait : step->waits[i])
      if (tpsp_rt_status status = tpsp_rt_event_wait(&rank, &wait->command))
        return status;
    rank.place = {action.microBatch, &action.slots};
    if (tpsp_rt_status status = issue(&rank, action.segment))
      return status;
    rank.place = {};
    if (step->records[i])
      if (tpsp_rt_status status =
              tpsp_rt_event_record(&rank, &step->records[i]->command))
        return status;
  }
  return TPSP_RT_OK;
}

} // namespace tpsp::rt
