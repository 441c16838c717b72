// The overlap problem of a step: its streams and its memory.
#include "tpsp/Schedule/StepOverlap.h"

#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/InOrderOverlap.h"
#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/StreamIssue.h"

#include <gmock/gmock.h>

#include <limits>

using namespace tpsp;

namespace {

constexpr int64_t weightBytes = 1 << 22;

/// Returns the forward pass of `layers` layers under FSDP. Layer i gathers its
/// weight (command 2 i) and multiplies by it (command 2 i + 1).
Plan shardedLayers(int64_t layers) {
  Plan step;
  step.mesh = {{"fsdp", 4, AxisRole::None}};
  auto buffer = [&](int64_t bytes, bool isArgument) {
    PlanBuffer &added = step.buffers.emplace_back();
    added.bytes = bytes;
    added.kind = isArgument ? BufferKind::Input : BufferKind::Temporary;
    return int64_t(step.buffers.size()) - 1;
  };
  auto whole = [&](int64_t number, bool isWrite) {
    return PlanAccess{number, {0, step.buffers[number].bytes, 1, 0}, isWrite};
  };
  int64_t x = buffer(1 << 20, true);
  for (int64_t layer = 0; layer < layers; ++layer) {
    int64_t shard = buffer(weightBytes / 4, true);
    int64_t weight = buffer(weightBytes, false);
    PlanCommand gather;
    gather.kind = CommandKind::Collective;
    gather.collective.kind = CollectiveKind::AllGather;
    gather.collective.axes.push_back(0);
    gather.collective.group = 4;
    gather.collective.bytes = weightBytes;
    gather.accesses = {whole(shard, false), whole(weight, true)};
    step.commands.push_back(gather);
    PlanCommand multiply;
    multiply.kind = CommandKind::Matmul;
    multiply.matmul.m = multiply.matmul.n = multiply.matmul.k = 512;
    int64_t y = buffer(1 << 20, false);
    multiply.accesses = {whole(x, false), whole(weight, false), whole(y, true)};
    step.commands.push_back(multiply);
    x = y;
  }
  step.buffers[x].kind = BufferKind::Output;
  return step;
}

/// Returns the step's problem on a machine of 8 GPUs.
OverlapProblem problemOf(const Plan &step, int64_t bytes,
                         const char *hardware = "h100-sxm") {
  llvm::Expected<Hardware> machine = findHardware(hardware);
  if (!machine)
    throw std::runtime_error(llvm::toString(machine.takeError()));
  return overlapProblemOf(step, CostModel(*machine, step.mesh), bytes);
}

/// The arena bounds the memory in use, whatever time commands really take.
TEST(StepOverlap, GathersKeepToTheMemory) {
  constexpr int64_t layers = 12;
  Plan step = shardedLayers(layers);
  HappensBefore before;
  ASSERT_FALSE(HappensBefore::analyse(step, before));
  int64_t serial = planArena(step, before).bytes;
  for (int64_t weights : {1, 2, 3}) {
    int64_t most = serial + (weights - 1) * weightBytes;
    OverlapProblem problem = problemOf(step, most);
    ASSERT_EQ(problem.check(), std::nullopt);
    OverlapSchedule schedule = scheduleList(problem);
    ASSERT_EQ(verify(problem, schedule), std::nullopt);
    Plan issued;
    issued.buffers = step.buffers;
    issued.numStreams = problem.numStreams;
    for (const IssueItem &item : issueOf(problem, schedule)) {
      PlanCommand &command = issued.commands.emplace_back();
      if (item.kind == IssueItem::Run) {
        command = step.commands[item.number];
      } else {
        command.event = item.number;
        issued.numEvents = std::max(issued.numEvents, item.number + 1);
        command.kind = item.kind == IssueItem::Record ? CommandKind::EventRecord
                                                      : CommandKind::EventWait;
      }
      command.stream = item.stream;
    }
    ASSERT_FALSE(HappensBefore::analyse(issued, before));
    EXPECT_LE(planArena(issued, before).bytes, most) << weights;
    bool isAhead = schedule.start[2] < schedule.start[1] + 1e-9;
    EXPECT_EQ(isAhead, weights > 1) << weights;
  }
}

TEST(StepOverlap, TemporariesHaveTheirUsers) {
  Plan step = shardedLayers(3);
  OverlapProblem problem = problemOf(step, 1 << 30);
  ASSERT_EQ(problem.numStreams, 2);
  ASSERT_EQ(problem.buffers.size(), 5u); // the last result lasts
  int64_t lasting = 0;
  for (const PlanBuffer &buffer : step.buffers)
    lasting += buffer.lasts() ? buffer.bytes : 0;
  EXPECT_EQ(problem.capacity, (1 << 30) - lasting);
  for (int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(problem.commands[2 * layer].stream, 1);
    EXPECT_EQ(problem.buffers[2 * layer].bytes, weightBytes);
    EXPECT_THAT(problem.buffers[2 * layer].users,
                testing::ElementsAre(2 * layer, 2 * layer + 1));
  }
}

/// Returns a step of one collective after another over these axes.
Plan collectives(std::vector<MeshAxis> mesh,
                 const std::vector<std::vector<AxisId>> &over) {
  Plan step;
  step.mesh = std::move(mesh);
  for (const std::vector<AxisId> &axes : over) {
    PlanCommand &collective = step.commands.emplace_back();
    collective.kind = CommandKind::Collective;
    collective.collective.axes = axes;
    collective.collective.group = Mesh(step.mesh).groupSize(axes);
    collective.collective.bytes = 64;
  }
  return step;
}

std::vector<int64_t> streamsOf(const OverlapProblem &problem) {
  std::vector<int64_t> streams;
  for (const OverlapProblem::Command &command : problem.commands)
    streams.push_back(command.stream);
  return streams;
}

/// On CPUs ranks share no links, so each communicator has a stream. A
/// communicator is its axes in any order. A group of one sends nothing.
TEST(StepOverlap, AStreamForEveryCommunicator) {
  Plan step = collectives({{"a", 2, AxisRole::None},
                           {"b", 2, AxisRole::None},
                           {"c", 1, AxisRole::None}},
                          {{1}, {0}, {0, 1}, {2}, {1, 0}, {1}});
  OverlapProblem problem = problemOf(step, 1 << 30, "cpu");
  EXPECT_EQ(problem.numStreams, 4);
  EXPECT_THAT(streamsOf(problem), testing::ElementsAre(1, 2, 3, 0, 3, 1));
}

/// On GPUs each tier of links has a stream. An axis across nodes uses other
/// links than an axis of neighbours, and so does a collective along both.
TEST(StepOverlap, AStreamForEveryTierOfLinks) {
  std::vector<std::vector<AxisId>> over = {{1}, {0}, {0, 1}, {2}, {1, 0}, {1}};
  auto mesh = [](int64_t inner) {
    return std::vector<MeshAxis>{{"a", 2, AxisRole::None},
                                 {"b", inner, AxisRole::None},
                                 {"c", 2, AxisRole::None}};
  };
  OverlapProblem oneNode = problemOf(collectives(mesh(2), over), 1 << 30);
  EXPECT_EQ(oneNode.numStreams, 2);
  EXPECT_THAT(streamsOf(oneNode), testing::Each(1));
  OverlapProblem twoNodes =
      problemOf(collectives(mesh(4), over), 1 << 30, "h100-sxm-2node");
  EXPECT_EQ(twoNodes.numStreams, 3);
  EXPECT_THAT(streamsOf(twoNodes), testing::ElementsAre(1, 2, 2, 1, 2, 1));
}

/// The two products of a layer's gradient, for its input and its weight, with
/// the all-reduce of the first, in the forward or backward pass.
class TwoProducts {
public:
  explicit TwoProducts(Phase phase) {
    step.mesh = {{"tp", 4, AxisRole::None}};
    LedgerRow &row = step.ledger.emplace_back();
    row.phase = phase;
    int64_t g = buffer(), x = buffer(), w = buffer(), gw = buffer(),
            partial = buffer(), gx = buffer(), next = buffer();
    add(CommandKind::Matmul, {g, x}, gw);
    add(CommandKind::Matmul, {g, w}, partial);
    PlanCommand &sum = add(CommandKind::Collective, {partial}, gx);
    sum.collective.kind = CollectiveKind::AllReduce;
    sum.collective.axes.push_back(0);
    sum.collective.group = 4;
    sum.collective.bytes = 1 << 24;
    sum.collective.row = 0;
    add(CommandKind::Kernel, {gx}, next);
  }

  OverlapSchedule schedule() {
    CostModel cost(*findHardware("h100-sxm"), meshOf(step));
    OverlapProblem problem =
        overlapProblemOf(step, cost, std::numeric_limits<int64_t>::max());
    OverlapSchedule found =
        scheduleInOrder(step, problem, InOrderOverlap::OwnProducts);
    EXPECT_EQ(verify(problem, found), std::nullopt);
    end = found.start[2] + problem.commands[2].seconds;
    return found;
  }

  /// The end of the all-reduce.
  double end = 0;

private:
  static Mesh meshOf(const Plan &plan) { return Mesh(plan.mesh); }

  int64_t buffer() {
    PlanBuffer &added = step.buffers.emplace_back();
    added.bytes = 1 << 24;
    added.kind = BufferKind::Temporary;
    return int64_t(step.buffers.size()) - 1;
  }

  PlanCommand &add(CommandKind kind, std::vector<int64_t> read,
                   int64_t written) {
    PlanCommand &command = step.commands.emplace_back();
    command.kind = kind;
    command.matmul.m = command.matmul.n = command.matmul.k = 1024;
    for (int64_t number : read)
      command.accesses.push_back({number, {0, 1 << 24, 1, 0}, false});
    command.accesses.push_back({written, {0, 1 << 24, 1, 0}, true});
    return command;
  }

  Plan step;
};

TEST(OwnProducts, AGradientsSumRunsUnderTheWeightsProduct) {
  TwoProducts layer(Phase::Backward);
  OverlapSchedule found = layer.schedule();
  EXPECT_EQ(found.start[1], 0);
  EXPECT_EQ(found.start[0], found.start[2]);
  EXPECT_GE(found.start[3], layer.end);
}

TEST(OwnProducts, NothingElseRunsBeside) {
  TwoProducts layer(Phase::Forward);
  OverlapSchedule found = layer.schedule();
  EXPECT_EQ(found.start[0], 0);
  EXPECT_GT(found.start[1], 0);
  EXPECT_GT(found.start[2], found.start[1]);
  EXPECT_GE(found.start[3], layer.end);
}

/// Layers that gather their parameters, scheduled in order.
class GatheredLayers {
public:
  explicit GatheredLayers(Phase phase, int64_t layers = 4)
      : step(shardedLayers(layers)) {
    for (PlanCommand &command : step.commands) {
      if (command.kind != CommandKind::Collective)
        continue;
      step.buffers[command.accesses.front().buffer].kind =
          BufferKind::Parameter;
      command.collective.row = int64_t(step.ledger.size());
      step.ledger.emplace_back().phase = phase;
    }
  }

  void schedule(InOrderOverlap overlap) {
    problem = problemOf(step, std::numeric_limits<int64_t>::max());
    found = scheduleInOrder(step, problem, overlap);
    EXPECT_EQ(verify(problem, found), std::nullopt);
  }
  double startOf(int64_t command) const { return found.start[command]; }
  double endOf(int64_t command) const {
    return found.start[command] + problem.commands[command].seconds;
  }

  Plan step;

private:
  OverlapProblem problem;
  OverlapSchedule found;
};

/// Command 2 i gathers for layer i, command 2 i + 1 multiplies.
TEST(InOrderOverlap, ParametersAreGatheredOneLayerAhead) {
  GatheredLayers layers(Phase::Forward);
  layers.schedule(InOrderOverlap::Parameters);
  EXPECT_EQ(layers.startOf(0), 0);
  for (int64_t layer = 1; layer < 4; ++layer) {
    int64_t gather = 2 * layer, before = gather - 1;
    EXPECT_DOUBLE_EQ(
        layers.startOf(gather),
        std::max(layers.startOf(before), layers.endOf(gather - 2)));
    EXPECT_LT(layers.startOf(gather), layers.endOf(before));
  }
}

TEST(InOrderOverlap, OwnProductsAndUpdatesHideNoGather) {
  GatheredLayers forward(Phase::Forward), update(Phase::Update);
  forward.schedule(InOrderOverlap::OwnProducts);
  update.schedule(InOrderOverlap::Parameters);
  for (int64_t gather = 2; gather < 8; gather += 2) {
    EXPECT_DOUBLE_EQ(forward.startOf(gather), forward.endOf(gather - 1));
    EXPECT_DOUBLE_EQ(update.startOf(gather), update.endOf(gather - 1));
  }
}

/// Activations are computed, not stored.
TEST(InOrderOverlap, OnlyParametersAreGatheredAhead) {
  GatheredLayers layers(Phase::Forward);
  for (PlanBuffer &buffer : layers.step.buffers)
    if (buffer.kind == BufferKind::Parameter)
      buffer.kind = BufferKind::Input;
  layers.schedule(InOrderOverlap::Parameters);
  for (int64_t gather = 2; gather < 8; gather += 2)
    EXPECT_DOUBLE_EQ(layers.startOf(gather), layers.endOf(gather - 1));
}

TEST(InOrderOverlap, GradientsAreReducedAsSoonAsTheyAreThere) {
  for (bool areGradients : {true, false}) {
    GatheredLayers layers(Phase::Forward);
    for (auto [i, command] : llvm::enumerate(layers.step.commands)) {
      if (command.kind != CommandKind::Collective)
        continue;
      // It sums what the product before it has written.
      if (i > 0)
        command.accesses[0] = layers.step.commands[i - 1].accesses.back();
      command.accesses[0].isWrite = false;
      if (areGradients)
        layers.step.ledger[command.collective.row].gradients = {0};
    }
    // Nothing but the next layers' products reads what is summed.
    for (int64_t product = 3; product < 8; product += 2)
      layers.step.commands[product].accesses.erase(
          layers.step.commands[product].accesses.begin() + 1);
    layers.schedule(InOrderOverlap::Parameters);
    for (int64_t sum = 2; sum < 8; sum += 2) {
      EXPECT_GE(layers.startOf(sum), layers.endOf(sum - 1));
      EXPECT_EQ(layers.startOf(sum + 1) < layers.endOf(sum), areGradients);
    }
  }
}

/// Layer i prepares its parameters (command 3 i), gathers them, and multiplies
/// after it has read the gradient of the layer before.
TEST(InOrderOverlap, WhatPreparesParametersRunsAheadWithTheirGather) {
  GatheredLayers layers(Phase::Backward);
  std::vector<PlanCommand> commands;
  for (const PlanCommand &command : layers.step.commands) {
    if (command.kind == CommandKind::Collective) {
      PlanBuffer packed = layers.step.buffers[command.accesses[0].buffer];
      packed.kind = BufferKind::Temporary;
      PlanCommand copy;
      copy.kind = CommandKind::Copy;
      copy.accesses = {command.accesses[0], command.accesses[0]};
      copy.accesses[1].buffer = int64_t(layers.step.buffers.size());
      copy.accesses[1].isWrite = true;
      layers.step.buffers.push_back(packed);
      commands.push_back(copy);
      commands.push_back(command);
      commands.back().accesses[0].buffer = copy.accesses[1].buffer;
    } else {
      commands.push_back(command);
    }
  }
  layers.step.commands = commands;
  layers.schedule(InOrderOverlap::Parameters);
  for (int64_t layer = 1; layer < 4; ++layer) {
    int64_t copy = 3 * layer, gather = copy + 1, before = copy - 1;
    EXPECT_LE(layers.endOf(copy), layers.startOf(before));
    EXPECT_LE(layers.startOf(gather),
              std::max(layers.startOf(before), layers.endOf(gather - 3)));
  }
}

} // namespace
