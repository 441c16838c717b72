// The trace of a simulated program with stages: a row for each stage.
#include "StagesReport.h"

#include "tpsp/Abi/AlikeRanks.h"
#include "tpsp/Schedule/PipelinePath.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::tool;

static PlanCommand commandOf(const PipelineCommand &from, int64_t chunks) {
  const char *calls[] = {"forward", "backward", "weights", "send", "send"};
  PlanCommand command;
  command.call = calls[size_t(from.work)];
  command.value = chunks == 1 ? fmt::format("{}", from.part)
                              : fmt::format("{} of {}", from.part, from.chunk);
  if (!from.isSend())
    return command;
  command.kind = CommandKind::Collective;
  command.collective.kind = CollectiveKind::Permute;
  command.stream = 1;
  return command;
}

/// The bytes in use over time, with those of the update.
static std::vector<TraceSample> memoryOf(const StageUse &use) {
  std::vector<TraceSample> memory = use.memory;
  double most = 0;
  for (const TraceSample &sample : memory)
    most = std::max(most, sample.value);
  if (use.update == 0 || most >= double(use.peak))
    return memory;
  double after = memory.back().value;
  memory.push_back({use.computed, double(use.peak)});
  memory.push_back({use.ended, after});
  return memory;
}

static std::vector<TraceRank> emptyRanks(const StagesReport &report) {
  std::vector<TraceRank> ranks(report.step.stages.size());
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    ranks[stage].name =
        fmt::format("stage {}: {}", stage, ranksText(ranksOf(report, stage)));
    ranks[stage].streams.resize(2);
    ranks[stage].memory = memoryOf(report.step.stages[stage]);
    ranks[stage].sending = {{0, 0}};
  }
  return ranks;
}

/// Adds the micro-batches' commands, in the order of the schedule.
static void addCommands(const StagesReport &report, Plan &plan,
                        std::vector<TraceRank> &ranks) {
  const PipelineProblem &problem = report.step.problem;
  for (const PipelineCommand &from : report.step.schedule.commands) {
    PlanCommand command = commandOf(from, int64_t(problem.chunksPerStage));
    ranks[problem.stageOf(from.chunk)].streams[command.stream].push_back(
        {int64_t(plan.commands.size()), from.start, from.end});
    plan.commands.push_back(std::move(command));
  }
}

static void addUpdates(const StagesReport &report, Plan &plan,
                       std::vector<TraceRank> &ranks) {
  for (size_t stage = 0; stage < ranks.size(); ++stage) {
    const StageUse &use = report.step.stages[stage];
    auto add = [&](const char *name, double begin, double end) {
      if (end <= begin)
        return;
      ranks[stage].streams[0].push_back(
          {int64_t(plan.commands.size()), begin, end});
      plan.commands.emplace_back().call = name;
    };
    add("reduce", use.computed, use.computed + use.reductions);
    add("update", use.updateBegin(), use.ended);
  }
}

/// The position of the stage's last command that computes.
static size_t lastCommand(const PipelineStep &step, size_t stage) {
  const std::vector<PipelineCommand> &commands = step.schedule.commands;
  size_t last = 0;
  for (size_t i = 0; i < commands.size(); ++i)
    if (!commands[i].isSend() &&
        step.problem.stageOf(commands[i].chunk) == int64_t(stage))
      last = i;
  return last;
}

/// The stage whose reductions end before the update of `stage` begins. It may
/// be another one if stages add a common gradient, or share a norm.
static size_t stageBeforeUpdate(const PipelineStep &step, size_t stage) {
  auto reduced = [&](size_t each) {
    return step.stages[each].computed + step.stages[each].reductions;
  };
  double begin = step.stages[stage].updateBegin() * (1 + 1e-9);
  if (begin <= reduced(stage) * (1 + 1e-9))
    return stage;
  // A stage that ends later has no part in it.
  size_t latest = stage;
  for (size_t other = 0; other < step.stages.size(); ++other)
    if (reduced(other) <= begin && reduced(other) > reduced(latest))
      latest = other;
  return latest;
}

/// The critical path of a step. Reductions and updates are the last spans of
/// `ranks`.
static std::vector<CriticalCommand>
criticalOf(const PipelineStep &step, const std::vector<TraceRank> &ranks) {
  auto slowest =
      std::max_element(step.stages.begin(), step.stages.end(),
                       [](const StageUse &one, const StageUse &other) {
                         return one.ended < other.ended;
                       });
  auto stage = size_t(slowest - step.stages.begin());
  size_t before = stageBeforeUpdate(step, stage);
  std::vector<CriticalCommand> critical;
  for (size_t i : criticalCommands(step.problem, step.schedule,
                                   lastCommand(step, before))) {
    const PipelineCommand &command = step.schedule.commands[i];
    critical.push_back({size_t(step.problem.stageOf(command.chunk)),
                        size_t(command.isSend()),
                        {int64_t(i), command.start, command.end}});
  }
  auto addAt = [&](size_t of, double begin) {
    llvm::ArrayRef<TraceSpan> spans = ranks[of].streams[0];
    for (const TraceSpan &span :
         spans.take_back(std::min<size_t>(2, spans.size())))
      if (span.begin == begin)
        critical.push_back({of, 0, span});
  };
  if (step.stages[before].reductions > 0)
    addAt(before, step.stages[before].computed);
  if (slowest->update > slowest->reductions)
    addAt(stage, slowest->updateBegin());
  return critical;
}

StepTrace tpsp::tool::traceOf(const StagesReport &report) {
  auto plan = std::make_shared<Plan>();
  plan->program = report.plans.program;
  plan->mesh = {{"stage", report.step.problem.stages}};
  plan->numStreams = 2;
  StepTrace trace;
  trace.ranks = emptyRanks(report);
  addCommands(report, *plan, trace.ranks);
  addUpdates(report, *plan, trace.ranks);
  trace.critical = criticalOf(report.step, trace.ranks);
  trace.title = report.plans.program + " of " + report.program;
  trace.setting =
      fmt::format("{}, {} micro-batches, simulated on {}", report.schedule,
                  report.step.problem.parts, report.hardware);
  trace.plan = std::move(plan);
  return trace;
}
