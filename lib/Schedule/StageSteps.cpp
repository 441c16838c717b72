#include "tpsp/Schedule/StageSteps.h"

#include <map>

using namespace tpsp;

namespace {

/// The plan for its first micro-batches and its last one, which may have
/// segments of its own. There are `microBatches` of them, and they are numbered
/// anew.
Plan shortened(const Plan &whole, int64_t microBatches) {
  Plan plan = whole;
  plan.microBatches = microBatches;
  int64_t last = whole.microBatches - 1;
  for (std::vector<StepAction> &order : plan.order) {
    std::vector<StepAction> kept;
    for (StepAction action : order) {
      bool isOnce = !whole.segments[action.segment].isOfMicroBatch();
      if (!isOnce && action.microBatch == last)
        action.microBatch = microBatches - 1;
      else if (action.microBatch >= microBatches - 1 && !isOnce)
        continue;
      kept.push_back(action);
    }
    order = std::move(kept);
  }
  return plan;
}

} // namespace

StageSteps::StageSteps(const Plan &whole, int64_t microBatches)
    : plan(shortened(whole, microBatches)), orders(StepOrder::ofStages(plan)),
      isScratch(plan.buffers.size()), commandsOf(plan.segments.size()) {
  constexpr int64_t none = -1, several = -2;
  std::vector<int64_t> segmentOf(plan.buffers.size(), none);
  for (size_t number = 0; number < plan.commands.size(); ++number) {
    const PlanCommand &command = plan.commands[number];
    commandsOf[command.segment].push_back(int64_t(number));
    for (const PlanAccess &access : command.accesses) {
      int64_t &known = segmentOf[access.buffer];
      known =
          known == none || known == command.segment ? command.segment : several;
    }
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    isScratch[i] = segmentOf[i] >= 0 && !plan.buffers[i].lasts() &&
                   !plan.segments[segmentOf[i]].isTransfer();
}

namespace {

class StageWriter {
public:
  StageWriter(const Plan &plan, const StepOrder &order, int64_t stage,
              const std::vector<bool> &isScratch,
              const std::vector<std::vector<int64_t>> &commandsOf)
      : plan(plan), order(order), stage(stage), isScratch(isScratch),
        commandsOf(commandsOf), eventOf(plan.numEvents, -1) {}

  WrittenOutStep run() {
    begin();
    for (size_t i = 0; i < order.actions.size(); ++i) {
      const IssuedAction &action = order.actions[i];
      for (int64_t before : action.waits)
        addEvent(CommandKind::EventWait, before, action.stream);
      for (int64_t number : commandsOf[action.segment])
        add(number, int64_t(i), action);
      if (action.isAwaited)
        addEvent(CommandKind::EventRecord, int64_t(i), action.stream);
    }
    return std::move(result);
  }

private:
  void begin() {
    Plan &step = result.plan;
    step.mesh = plan.mesh;
    step.arenaBytes = plan.arenaBytes;
    step.numStreams = plan.numStreams;
    // Events of actions come first, then each record within a segment.
    step.numEvents = numActionEvents(plan);
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].lasts() && plan.buffers[i].isOfStage(stage))
        copies[{int64_t(i), always}] = addBuffer(int64_t(i));
  }

  int64_t addBuffer(int64_t number) {
    PlanBuffer &copy = result.plan.buffers.emplace_back(plan.buffers[number]);
    copy.pool = -1;
    copy.cutDim = -1;
    copy.bytes = plan.buffers[number].partBytes() *
                 (plan.buffers[number].isCut() ? plan.microBatches : 1);
    copy.parts = 1;
    result.bufferOf.push_back(number);
    return int64_t(result.plan.buffers.size()) - 1;
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
    command.collective.row = -1; // there is no ledger
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
    result.plan.commands.push_back(std::move(command));
    result.commandOf.push_back(number);
  }

  /// The buffer that an action accesses. There is one for each micro-batch in a
  /// pool, and one for each action in the scratch memory of a segment.
  int64_t bufferFor(int64_t number, int64_t position,
                    const IssuedAction &action) {
    const PlanBuffer &buffer = plan.buffers[number];
    bool isPooled = buffer.pool >= 0;
    int64_t owner = isPooled            ? action.microBatch
                    : isScratch[number] ? position
                                        : always;
    auto [known, isNew] = copies.try_emplace({number, owner}, 0);
    if (!isNew)
      return known->second;
    known->second = addBuffer(number);
    std::optional<int64_t> &offset = result.plan.buffers.back().offset;
    if (isPooled && offset)
      *offset += action.slots[buffer.pool] * plan.pools[buffer.pool].bytes;
    return known->second;
  }

  /// The owner of a buffer that there is once.
  static constexpr int64_t always = -1;

  const Plan &plan;
  const StepOrder &order;
  const int64_t stage;
  const std::vector<bool> &isScratch;
  const std::vector<std::vector<int64_t>> &commandsOf;
  /// The key is the buffer of the plan and its owner: a micro-batch, or an
  /// action.
  std::map<std::pair<int64_t, int64_t>, int64_t> copies;
  /// The latest record of each event within a segment; -1 if there is none.
  std::vector<int64_t> eventOf;
  WrittenOutStep result;
};

} // namespace

WrittenOutStep StageSteps::of(int64_t stage) const {
  return StageWriter(plan, orders[stage], stage, isScratch, commandsOf).run();
}
