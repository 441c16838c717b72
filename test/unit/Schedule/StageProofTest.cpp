// The slots and waits that follow from orders of stages are held against random
// interleavings of all streams. The proof is held against changed orders.
#include "tpsp/Schedule/StageProof.h"
#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Schedule/ScheduleProof.h"
#include "tpsp/Schedule/StageOrder.h"
#include "tpsp/Schedule/StageSteps.h"

#include "gtest/gtest.h"

#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

using namespace tpsp;

namespace {

/// A pipeline of `stages` stages with `chunksPerStage` chunks each. Every chunk
/// saves a value for its backward pass, and hands one on in each direction. The
/// last one saves a larger value. `splitsLast`: the last micro-batch has
/// backward segments of its own.
Plan pipeline(int64_t stages, int64_t microBatches, int64_t chunksPerStage,
              bool splitsLast) {
  const int64_t chunks = stages * chunksPerStage;
  Plan plan;
  plan.mesh = {{"pp", stages}};
  plan.stageAxis = 0;
  plan.microBatches = microBatches;
  plan.numStreams = 3;
  plan.segments.clear();
  auto segment = [&](SegmentWork work, int64_t chunk) {
    plan.segments.push_back(
        {nameOf(work), SegmentRuns::Each, work, chunk, {chunk % stages}});
    return int64_t(plan.segments.size()) - 1;
  };
  auto buffer = [&](int64_t chunk, int64_t bytes = 64) {
    PlanBuffer &made = plan.buffers.emplace_back();
    made.bytes = bytes;
    made.stages = {chunk % stages};
    made.stageAxis = 0;
    return int64_t(plan.buffers.size()) - 1;
  };
  auto command = [&](int64_t of, std::vector<int64_t> reads,
                     std::vector<int64_t> writes, int64_t stream = 0) {
    PlanCommand &made = plan.commands.emplace_back();
    made.segment = of;
    made.stream = stream;
    made.kernel.operations = 1e6;
    for (int64_t each : reads)
      made.accesses.push_back({each, {0, 64}, false});
    for (int64_t each : writes)
      made.accesses.push_back({each, {0, 64}, true});
  };
  std::vector<int64_t> saved;
  int64_t handed = -1;
  auto hand = [&](int64_t value, int64_t from, int64_t to, int64_t stream) {
    int64_t send = segment(SegmentWork::Send, from);
    int64_t receive = segment(SegmentWork::Receive, to);
    plan.segments[send].peer = receive;
    plan.segments[receive].peer = send;
    int64_t received = buffer(to);
    command(send, {value}, {}, stream);
    command(receive, {}, {received}, stream);
    return received;
  };
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    int64_t forward = segment(SegmentWork::Forward, chunk);
    saved.push_back(buffer(chunk, chunk + 1 < chunks ? 64 : 4096));
    int64_t made = buffer(chunk);
    command(forward,
            handed < 0 ? std::vector<int64_t>() : std::vector<int64_t>{handed},
            {saved.back(), made});
    handed = chunk + 1 < chunks ? hand(made, chunk, chunk + 1, 1) : made;
  }
  for (int64_t chunk = chunks; chunk-- > 0;) {
    int64_t backward = segment(SegmentWork::Backward, chunk);
    int64_t made = buffer(chunk);
    command(backward, {saved[chunk], handed}, {made});
    if (splitsLast) {
      plan.segments[backward].runs = SegmentRuns::AllButLast;
      int64_t last = segment(SegmentWork::Backward, chunk);
      plan.segments[last].runs = SegmentRuns::Last;
      command(last, {saved[chunk], handed}, {made});
    }
    if (chunk > 0)
      handed = hand(made, chunk, chunk - 1, 2);
  }
  return plan;
}

/// Gives the buffers their memory for the plan's order.
void place(Plan &plan) {
  StageArena arena = planStageArena(plan);
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    plan.buffers[i].pool = arena.poolOf[i];
    plan.buffers[i].offset = arena.offsets[i];
  }
  plan.pools = arena.pools;
  plan.arenaBytes = arena.bytes;
  plan.stageArenas = arena.bytesOfStage;
}

Plan ordered(int64_t stages, int64_t microBatches, const char *schedule,
             int64_t chunksPerStage = 1, bool splitsLast = false) {
  Plan plan = pipeline(stages, microBatches, chunksPerStage, splitsLast);
  CostModel cost(*findHardware("h100-sxm"), Mesh(plan.mesh));
  auto order = orderStages(plan, cost, *findPolicy(schedule), 0);
  EXPECT_TRUE(bool(order));
  plan.order = std::move(*order);
  for (const std::vector<StepAction> &each : plan.order)
    plan.numEvents = std::max(plan.numEvents, int64_t(each.size()));
  place(plan);
  return plan;
}

/// Whether the proofs of stages and of each stage's memory accept the plan.
bool isProved(const Plan &plan) {
  if (proveStages(plan))
    return false;
  for (int64_t stage = 0; stage < plan.numStages(); ++stage)
    if (proveSchedule(StageSteps(plan, plan.microBatches).of(stage).plan))
      return false;
  return true;
}

/// Runs the actions of all stages in a random order that streams, waits and
/// transfers allow. Returns whether every command read the value of its own
/// micro-batch, and all actions ended.
class Interleaving {
  /// A buffer and a micro-batch.
  using Value = std::pair<int64_t, int64_t>;

public:
  Interleaving(const Plan &plan, uint64_t seed) : plan(plan), random(seed) {
    for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
      orders.push_back(StepOrder::of(plan, stage));
      ended.emplace_back(orders.back().actions.size(), false);
      for (size_t i = 0; i < orders.back().actions.size(); ++i)
        lanes[{stage, orders.back().actions[i].stream}].push_back(i);
    }
  }

  bool run() {
    size_t left = 0;
    for (const std::vector<bool> &each : ended)
      left += each.size();
    while (left > 0) {
      std::vector<std::pair<int64_t, int64_t>> ready;
      for (auto &[key, lane] : lanes)
        if (next[key] < lane.size() && mayRun(key.first, lane[next[key]]))
          ready.push_back(key);
      if (ready.empty())
        return false;
      auto key = ready[random() % ready.size()];
      left -= step(key);
    }
    return isRight;
  }

private:
  const IssuedAction &at(int64_t stage, size_t number) const {
    return orders[stage].actions[number];
  }

  /// The other side of a transfer, if it is at the head of its lane.
  std::optional<std::pair<int64_t, size_t>> peerAtHead(int64_t stage,
                                                       size_t number) {
    const IssuedAction &action = at(stage, number);
    int64_t wanted = plan.segments[action.segment].peer;
    for (auto &[key, lane] : lanes) {
      if (next[key] >= lane.size())
        continue;
      const IssuedAction &other = at(key.first, lane[next[key]]);
      if (other.segment == wanted && other.microBatch == action.microBatch)
        return std::pair(key.first, lane[next[key]]);
    }
    return std::nullopt;
  }

  bool hasWaited(int64_t stage, size_t number) const {
    for (int64_t before : at(stage, number).waits)
      if (!ended[stage][before])
        return false;
    return true;
  }

  bool mayRun(int64_t stage, size_t number) {
    if (!hasWaited(stage, number))
      return false;
    if (!plan.segments[at(stage, number).segment].isTransfer())
      return true;
    auto other = peerAtHead(stage, number);
    return other && hasWaited(other->first, other->second);
  }

  /// Runs the head of a lane, and the other side of a transfer with it.
  size_t step(std::pair<int64_t, int64_t> key) {
    size_t number = lanes[key][next[key]];
    bool isTransfer = plan.segments[at(key.first, number).segment].isTransfer();
    auto other = isTransfer ? peerAtHead(key.first, number) : std::nullopt;
    touch(key.first, number);
    if (!other)
      return 1;
    touch(other->first, other->second);
    return 2;
  }

  void touch(int64_t stage, size_t number) {
    const IssuedAction &action = at(stage, number);
    for (const PlanCommand &command : plan.commands)
      if (command.segment == action.segment)
        for (const PlanAccess &access : command.accesses)
          visit(stage, action, access);
    ended[stage][number] = true;
    ++next[{stage, action.stream}];
  }

  void visit(int64_t stage, const IssuedAction &action,
             const PlanAccess &access) {
    const PlanBuffer &buffer = plan.buffers[access.buffer];
    int64_t at = *buffer.offset;
    if (buffer.pool >= 0)
      at += action.slots[buffer.pool] * plan.pools[buffer.pool].bytes;
    Value value{access.buffer, action.microBatch};
    if (access.isWrite)
      memory[{stage, at}] = value;
    isRight &= memory[{stage, at}] == value;
  }

  const Plan &plan;
  std::mt19937_64 random;
  std::vector<StepOrder> orders;
  std::vector<std::vector<bool>> ended;
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> lanes;
  std::map<std::pair<int64_t, int64_t>, size_t> next;
  /// The value at each stage's offsets.
  std::map<std::pair<int64_t, int64_t>, Value> memory;
  bool isRight = true;
};

bool isRight(const Plan &plan) {
  for (uint64_t seed = 0; seed < 20; ++seed)
    if (!Interleaving(plan, seed).run())
      return false;
  return true;
}

} // namespace

TEST(StageProof, OrdersAreRightInEveryInterleaving) {
  for (const PipelinePolicy &policy : pipelinePolicies())
    for (auto [stages, microBatches] :
         {std::pair(2, 1), std::pair(2, 7), std::pair(3, 5), std::pair(4, 8)}) {
      Plan plan = ordered(stages, microBatches, policy.name);
      EXPECT_EQ(proveStages(plan), std::nullopt) << policy.name;
      EXPECT_TRUE(isProved(plan)) << policy.name << ' ' << stages;
      EXPECT_TRUE(isRight(plan)) << policy.name << ' ' << stages;
    }
}

TEST(StageProof, ALastMicroBatchOfItsOwnIsRightInEveryInterleaving) {
  for (const char *schedule : {"gpipe", "1f1b"})
    for (auto [stages, microBatches, chunks] :
         {std::tuple(2, 2, 1), {2, 7, 1}, {3, 5, 2}, {4, 8, 1}}) {
      Plan plan = ordered(stages, microBatches, schedule, chunks,
                          /*splitsLast=*/true);
      EXPECT_EQ(proveStages(plan), std::nullopt) << schedule;
      EXPECT_TRUE(isProved(plan)) << schedule << ' ' << stages;
      EXPECT_TRUE(isRight(plan)) << schedule << ' ' << stages;
    }
}

// The last micro-batch's segment cannot stand for another one, or be left out.
TEST(StageProof, SegmentsKeepTheirMicroBatches) {
  Plan plan = ordered(3, 4, "1f1b", 1, /*splitsLast=*/true);
  int64_t changes = 0;
  for (size_t stage = 0; stage < 3; ++stage)
    for (size_t i = 0; i < plan.order[stage].size(); ++i) {
      int64_t segment = plan.order[stage][i].segment;
      if (plan.segments[segment].runs != SegmentRuns::Last)
        continue;
      Plan changed = plan;
      changed.order[stage][i].microBatch = 2;
      EXPECT_TRUE(proveStages(changed)) << stage << ' ' << i;
      changed.order[stage][i] = {segment - 2, 3}; // that of the others
      EXPECT_TRUE(proveStages(changed)) << stage << ' ' << i;
      ++changes;
    }
  EXPECT_EQ(changes, 3);
}

TEST(StageProof, AnAdditionAfterItsReaderIsRefused) {
  Plan plan = ordered(2, 8, "1f1b", 1, /*splitsLast=*/true);
  const int64_t sum = int64_t(plan.buffers.size());
  PlanBuffer &made = plan.buffers.emplace_back();
  made.kind = BufferKind::Gradient;
  made.bytes = 64;
  made.isSum = true;
  int64_t others = -1, last = -1;
  for (size_t i = 0; i < plan.segments.size(); ++i)
    if (plan.segments[i].chunk == 0) {
      if (plan.segments[i].runs == SegmentRuns::AllButLast)
        others = int64_t(i);
      if (plan.segments[i].runs == SegmentRuns::Last)
        last = int64_t(i);
    }
  for (auto [segment, isReader] :
       {std::pair(others, false), std::pair(last, false),
        std::pair(last, true)}) {
    PlanCommand command;
    command.segment = segment;
    command.accesses.push_back({sum, {0, 64}, false});
    if (!isReader)
      command.accesses.push_back({sum, {0, 64}, true});
    plan.commands.push_back(command);
  }
  EXPECT_EQ(proveStages(plan), std::nullopt);
  // Micro-batch 5 comes after the last one.
  std::vector<StepAction> &order = plan.order[0];
  auto moved = std::find_if(order.begin(), order.end(), [&](StepAction each) {
    return each.segment == others && each.microBatch == 5;
  });
  ASSERT_NE(moved, order.end());
  std::rotate(moved, moved + 1, order.end());
  std::optional<std::string> fault = proveStages(plan);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("adds to a sum that"), std::string::npos) << *fault;
}

// Chunks of a stage share slots, but for the last, which saves more.
TEST(StageProof, SharedSlotsAreRightInEveryInterleaving) {
  for (const PipelinePolicy &policy : pipelinePolicies())
    for (auto [stages, microBatches, chunks] :
         {std::tuple(2, 4, 2), {3, 6, 2}, {2, 6, 4}, {4, 8, 3}}) {
      Plan plan = ordered(stages, microBatches, policy.name, chunks);
      EXPECT_TRUE(isProved(plan)) << policy.name << ' ' << stages;
      EXPECT_TRUE(isRight(plan)) << policy.name << ' ' << stages;
    }
  Plan plan = ordered(2, 8, "1f1b", 4);
  std::set<int64_t> pools;
  for (const PlanBuffer &buffer : plan.buffers)
    if (buffer.stages.front() == 0)
      pools.insert(buffer.pool);
  // Chunks 2, 4 and 6 share them; chunk 0 receives nothing.
  EXPECT_LE(pools.size(), 8u);
}

TEST(StageProof, SlotsAreThoseUnderWay) {
  // 1F1B saves p - i micro-batches on stage i.
  Plan plan = ordered(4, 16, "1f1b");
  for (int64_t stage = 0; stage < 4; ++stage) {
    int64_t most = 0;
    StepOrder order = StepOrder::of(plan, stage);
    for (size_t pool = 0; pool < plan.pools.size(); ++pool)
      most = std::max(most, order.slots[pool]);
    EXPECT_LE(most, 4 - stage + 1);
  }
}

TEST(StageProof, AMissingActionIsRefused) {
  Plan plan = ordered(3, 4, "1f1b");
  for (int64_t stage = 0; stage < 3; ++stage)
    for (size_t i = 0; i < plan.order[stage].size(); ++i) {
      Plan changed = plan;
      changed.order[stage].erase(changed.order[stage].begin() + i);
      EXPECT_TRUE(proveStages(changed)) << stage << ' ' << i;
    }
}

TEST(StageProof, ATransferOnTwoStreamsIsRefused) {
  Plan plan = ordered(3, 4, "1f1b");
  int64_t changes = 0;
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const PlanCommand &command = plan.commands[i];
    if (command.isEvent() || !plan.segments[command.segment].isTransfer())
      continue;
    Plan changed = plan;
    changed.commands[i].stream = 3 - command.stream;
    EXPECT_TRUE(proveStages(changed)) << i;
    ++changes;
  }
  EXPECT_EQ(changes, 8); // both sides of two borders, in both directions
}

TEST(StageProof, ADoubledActionIsRefused) {
  Plan plan = ordered(3, 4, "1f1b");
  for (int64_t stage = 0; stage < 3; ++stage)
    for (size_t i = 0; i < plan.order[stage].size(); ++i) {
      Plan changed = plan;
      changed.order[stage].insert(changed.order[stage].begin() + i,
                                  plan.order[stage][i]);
      EXPECT_TRUE(proveStages(changed)) << stage << ' ' << i;
    }
}

TEST(StageProof, AMovedActionIsRefusedOrHarmless) {
  int64_t refused = 0, harmless = 0;
  for (const char *schedule : {"gpipe", "1f1b"}) {
    Plan plan = ordered(3, 4, schedule);
    for (int64_t stage = 0; stage < 3; ++stage)
      for (size_t from = 0; from < plan.order[stage].size(); ++from)
        for (size_t to = 0; to < plan.order[stage].size(); ++to) {
          Plan changed = plan;
          std::vector<StepAction> &order = changed.order[stage];
          StepAction moved = order[from];
          order.erase(order.begin() + from);
          order.insert(order.begin() + to, moved);
          place(changed);
          bool isAccepted = isProved(changed);
          (isAccepted ? harmless : refused) += 1;
          EXPECT_TRUE(!isAccepted || isRight(changed))
              << schedule << ' ' << stage << ' ' << from << ' ' << to;
        }
  }
  RecordProperty("refused", int(refused));
  RecordProperty("harmless", int(harmless));
  EXPECT_GT(refused, 0);
  EXPECT_GT(harmless, 0);
}
