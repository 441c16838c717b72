#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Schedule/IssueOrder.h"

#include <map>
#include <set>

using namespace tpsp;

namespace {

class StageWriter {
public:
  StageWriter(const Plan &whole, int64_t stage, int64_t microBatches)
      : plan(firstOf(whole, microBatches)), stage(stage),
        segments(plan.buffers.size()), commands(plan.segments.size()) {
    for (size_t number = 0; number < plan.commands.size(); ++number) {
      const PlanCommand &command = plan.commands[number];
      commands[command.segment].push_back(int64_t(number));
      for (const PlanAccess &access : command.accesses)
        segments[access.buffer].insert(command.segment);
    }
  }

  WrittenOutStep run() {
    begin();
    StepOrder order = StepOrder::of(plan, stage);
    for (size_t i = 0; i < order.actions.size(); ++i) {
      const IssuedAction &action = order.actions[i];
      for (int64_t before : action.waits)
        addEvent(CommandKind::EventWait, before, action.stream);
      for (int64_t number : commands[action.segment])
        add(number, int64_t(i), action);
      if (action.isAwaited)
        addEvent(CommandKind::EventRecord, int64_t(i), action.stream);
    }
    return std::move(result);
  }

private:
  /// The plan for its first micro-batches.
  static Plan firstOf(const Plan &whole, int64_t microBatches) {
    Plan plan = whole;
    plan.microBatches = microBatches;
    for (std::vector<StepAction> &order : plan.order) {
      std::vector<StepAction> kept;
      for (const StepAction &action : order)
        if (action.microBatch < microBatches)
          kept.push_back(action);
      order = std::move(kept);
    }
    return plan;
  }

  void begin() {
    result.plan = withoutCommands(plan, plan.microBatches);
    // Events of actions come first, then each record within a segment.
    result.plan.numEvents = numActionEvents(plan);
    eventOf.assign(plan.numEvents, -1);
    result.plan.pools.clear();
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      PlanBuffer &buffer = result.plan.buffers[i];
      buffer.pool = -1;
      result.bufferOf.push_back(int64_t(i));
      if (buffer.isOfStage(stage))
        continue;
      int64_t bytes = buffer.bytes;
      buffer = PlanBuffer();
      buffer.bytes = bytes;
    }
  }

  void addEvent(CommandKind kind, int64_t action, int64_t stream) {
    PlanCommand &command = result.plan.commands.emplace_back();
    command.kind = kind;
    command.event = action;
    command.stream = stream;
    result.commandOf.push_back(-1);
  }

  void add(int64_t number, int64_t position, const IssuedAction &action) {
    PlanCommand command = plan.commands[number];
    command.segment = 0;
    if (command.kind == CommandKind::EventRecord)
      eventOf[command.event] = result.plan.numEvents++;
    if (command.isEvent())
      command.event = eventOf[command.event];
    for (PlanAccess &access : command.accesses) {
      const PlanBuffer &buffer = plan.buffers[access.buffer];
      access.part.begin +=
          buffer.isCut() ? action.microBatch * buffer.partBytes() : 0;
      access.buffer = bufferFor(access.buffer, position, action);
    }
    if (command.collective.row >= 0)
      result.plan.ledger[command.collective.row].commands.push_back(
          int64_t(result.plan.commands.size()));
    result.plan.commands.push_back(std::move(command));
    result.commandOf.push_back(number);
  }

  /// The buffer that an action accesses. There is one for each micro-batch in a
  /// pool, and one for each action in the scratch memory of a segment.
  int64_t bufferFor(int64_t number, int64_t position,
                    const IssuedAction &action) {
    const PlanBuffer &buffer = plan.buffers[number];
    bool isPooled = buffer.pool >= 0;
    bool isScratch = !buffer.lasts() && segments[number].size() == 1 &&
                     !plan.segments[*segments[number].begin()].isTransfer();
    if (!isPooled && !isScratch)
      return number;
    auto [known, isNew] =
        copies.try_emplace({number, isPooled ? action.microBatch : position},
                           int64_t(result.plan.buffers.size()));
    if (!isNew)
      return known->second;
    PlanBuffer &copy = result.plan.buffers.emplace_back(buffer);
    copy.pool = -1;
    if (isPooled && copy.offset)
      *copy.offset += action.slots[buffer.pool] * plan.pools[buffer.pool].bytes;
    result.bufferOf.push_back(number);
    return known->second;
  }

  const Plan plan;
  const int64_t stage;
  /// For each buffer its segments, and for each segment its commands.
  std::vector<std::set<int64_t>> segments;
  std::vector<std::vector<int64_t>> commands;
  std::map<std::pair<int64_t, int64_t>, int64_t> copies;
  /// The latest record of each event within a segment; -1 if there is none.
  std::vector<int64_t> eventOf;
  WrittenOutStep result;
};

} // namespace

WrittenOutStep tpsp::writtenOutStage(const Plan &plan, int64_t stage,
                                     int64_t microBatches) {
  return StageWriter(plan, stage, microBatches).run();
}
