#include "tpsp/Schedule/IssueOrder.h"

#include <unordered_map>

using namespace tpsp;

namespace {

/// One issue of a command.
struct Issue {
  int64_t command, microBatch;
};

} // namespace

static std::vector<Issue> issuesOf(const Plan &plan, int64_t microBatches) {
  std::vector<Issue> issues;
  auto end = int64_t(plan.commands.size());
  for (int64_t begin = 0, next = 0; begin < end; begin = next) {
    int64_t segment = plan.commands[begin].segment;
    while (next < end && plan.commands[next].segment == segment)
      ++next;
    const PlanSegment &runs = plan.segments[segment];
    int64_t first = runs.firstOf(microBatches);
    for (int64_t i = 0; i < runs.times(microBatches); ++i)
      for (int64_t command = begin; command < next; ++command)
        issues.push_back({command, first + i});
  }
  return issues;
}

std::vector<int64_t> tpsp::issueOrder(const Plan &plan) {
  std::vector<int64_t> order;
  for (const Issue &issue : issuesOf(plan, plan.microBatches))
    order.push_back(issue.command);
  return order;
}

Plan tpsp::withoutCommands(const Plan &plan, int64_t microBatches) {
  Plan empty = plan;
  for (PlanBuffer &buffer : empty.buffers) {
    buffer.bytes = buffer.partBytes() * (buffer.isCut() ? microBatches : 1);
    buffer.cutDim = -1;
    buffer.parts = 1;
  }
  empty.segments = Plan().segments;
  empty.microBatches = 1;
  empty.order.clear();
  empty.commands.clear();
  for (LedgerRow &row : empty.ledger)
    row.commands.clear();
  return empty;
}

std::vector<WrittenOutStep> tpsp::segmentSteps(const Plan &plan) {
  Plan empty;
  empty.mesh = plan.mesh;
  empty.numStreams = plan.numStreams;
  empty.numEvents = plan.numEvents;
  std::vector<WrittenOutStep> steps(plan.segments.size(), {empty, {}, {}});
  std::vector<std::unordered_map<int64_t, int64_t>> numbers(steps.size());
  for (size_t number = 0; number < plan.commands.size(); ++number) {
    PlanCommand command = plan.commands[number];
    WrittenOutStep &step = steps[command.segment];
    auto &known = numbers[command.segment];
    for (PlanAccess &access : command.accesses) {
      auto [own, isNew] =
          known.try_emplace(access.buffer, int64_t(step.bufferOf.size()));
      if (isNew) {
        step.bufferOf.push_back(access.buffer);
        step.plan.buffers.push_back(plan.buffers[access.buffer]);
      }
      access.buffer = own->second;
    }
    command.segment = 0;
    if (plan.segments[plan.commands[number].segment].isTransfer())
      command.stream = 0;
    command.collective.row = -1; // there is no ledger
    step.commandOf.push_back(int64_t(number));
    step.plan.commands.push_back(std::move(command));
  }
  return steps;
}

namespace {

class Writer {
public:
  Writer(const Plan &plan, int64_t microBatches)
      : plan(plan), microBatches(microBatches), isOwn(ownOfMicroBatch()),
        latest(plan.buffers.size()), eventOf(plan.numEvents, -1) {}

  WrittenOutStep run() {
    begin();
    int64_t last = 0;
    for (auto [number, batch] : issuesOf(plan, microBatches)) {
      if (batch > last)
        renewBuffers();
      last = batch;
      add(number, batch);
    }
    return std::move(result);
  }

private:
  /// For each buffer, whether it is a temporary of single micro-batches.
  std::vector<bool> ownOfMicroBatch() const {
    std::vector<bool> found;
    for (const PlanBuffer &buffer : plan.buffers)
      found.push_back(!buffer.lasts());
    for (const PlanCommand &command : plan.commands)
      for (const PlanAccess &access : command.accesses)
        if (!plan.segments[command.segment].isOfMicroBatch())
          found[access.buffer] = false;
    return found;
  }

  void begin() {
    result.plan = withoutCommands(plan, microBatches);
    result.plan.numEvents = 0;
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      latest[i] = int64_t(i);
      result.bufferOf.push_back(int64_t(i));
    }
  }

  /// Gives the next micro-batch its own temporaries.
  void renewBuffers() {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      if (!isOwn[i])
        continue;
      latest[i] = int64_t(result.plan.buffers.size());
      result.plan.buffers.push_back(plan.buffers[i]);
      result.bufferOf.push_back(int64_t(i));
    }
  }

  void add(int64_t number, int64_t batch) {
    PlanCommand command = plan.commands[number];
    command.segment = 0;
    // A wait is for the latest record of its event.
    if (command.kind == CommandKind::EventRecord)
      eventOf[command.event] = result.plan.numEvents++;
    if (command.isEvent())
      command.event = eventOf[command.event];
    for (PlanAccess &access : command.accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      access.part.begin += buffer.isCut() ? batch * buffer.partBytes() : 0;
      access.buffer = latest[access.buffer];
    }
    if (command.collective.row >= 0)
      result.plan.ledger[command.collective.row].commands.push_back(
          int64_t(result.plan.commands.size()));
    result.plan.commands.push_back(std::move(command));
    result.commandOf.push_back(number);
  }

  const Plan &plan;
  const int64_t microBatches;
  const std::vector<bool> isOwn;
  /// The current micro-batch's buffer, for each buffer of the plan.
  std::vector<int64_t> latest;
  /// For each event of the plan, the number of its latest record; -1: none.
  std::vector<int64_t> eventOf;
  WrittenOutStep result;
};

} // namespace

WrittenOutStep tpsp::writtenOut(const Plan &plan, int64_t microBatches) {
  return Writer(plan, microBatches).run();
}
