/// The readers of commands' results, and the trace of a simulated plan.
#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/PlanMemory.h"

#include "tpsp/Schedule/Simulator.h"

#include <gtest/gtest.h>

#include <random>

using namespace tpsp;

namespace {

using Ids = std::vector<int64_t>;

class PlanMaker {
public:
  explicit PlanMaker(size_t buffers) {
    plan.buffers.resize(buffers);
    for (PlanBuffer &buffer : plan.buffers)
      buffer.bytes = 100;
  }

  void command(std::vector<PlanAccess> accesses) {
    plan.commands.emplace_back();
    plan.commands.back().accesses = std::move(accesses);
  }
  std::vector<Ids> reads() const { return readsOf(plan); }

  Plan plan;
};

constexpr BufferPart whole = {0, 100, 1, 0};
PlanAccess reads(int64_t buffer, BufferPart part = whole) {
  return {buffer, part, false};
}
PlanAccess writes(int64_t buffer, BufferPart part = whole) {
  return {buffer, part, true};
}

TEST(Plan, AReaderReadsTheLastWriter) {
  PlanMaker maker(2);
  maker.command({writes(0)});
  maker.command({reads(0), writes(1)});
  maker.command({writes(0)});
  maker.command({reads(0), reads(1)});
  std::vector<Ids> reads = maker.reads();
  EXPECT_EQ(reads[0], Ids());
  EXPECT_EQ(reads[1], Ids({0}));
  EXPECT_EQ(reads[2], Ids());
  EXPECT_EQ(reads[3], (Ids{1, 2}));
}

TEST(Plan, PartsAreWrittenApart) {
  constexpr BufferPart first = {0, 50, 1, 0}, second = {50, 50, 1, 0};
  PlanMaker maker(1);
  maker.command({writes(0, first)});
  maker.command({writes(0, second)});
  maker.command({reads(0, second)});
  maker.command({reads(0)});
  maker.command({writes(0, first)});
  maker.command({reads(0)});
  std::vector<Ids> reads = maker.reads();
  EXPECT_EQ(reads[2], Ids({1}));
  EXPECT_EQ(reads[3], (Ids{0, 1}));
  EXPECT_EQ(reads[5], (Ids{1, 4}));
}

TEST(Plan, ACommandThatUpdatesReadsWhatWasThere) {
  PlanMaker maker(1);
  maker.command({writes(0)});
  maker.command({reads(0), writes(0)});
  maker.command({reads(0)});
  std::vector<Ids> reads = maker.reads();
  EXPECT_EQ(reads[1], Ids({0}));
  EXPECT_EQ(reads[2], Ids({1}));
}

TEST(Plan, EventsComputeNothing) {
  PlanCommand command;
  EXPECT_TRUE(command.computes());
  for (CommandKind kind : {CommandKind::EventWait, CommandKind::EventRecord,
                           CommandKind::Collective}) {
    command.kind = kind;
    EXPECT_FALSE(command.computes());
    EXPECT_EQ(command.isEvent(), kind != CommandKind::Collective);
  }
}

TEST(Plan, TensorsAreTheBuffersThatLast) {
  Plan plan;
  EXPECT_TRUE(plan.tensors().empty());
  for (BufferKind kind :
       {BufferKind::Temporary, BufferKind::Input, BufferKind::Temporary,
        BufferKind::Temporary, BufferKind::Gradient, BufferKind::Temporary}) {
    plan.buffers.emplace_back().kind = kind;
    plan.buffers.back().bytes = 10;
  }
  std::vector<BufferKind> kinds;
  for (const PlanBuffer &tensor : plan.tensors())
    kinds.push_back(tensor.kind);
  EXPECT_EQ(kinds, (std::vector{BufferKind::Input, BufferKind::Gradient}));
  plan.arenaBytes = 100;
  EXPECT_EQ(plan.activationBytes(), 80);
}

/// Returns a plan of two updated parameters of 10 bytes and their gradients of
/// 10. The gradients' names say nothing, and a temporary is named like a
/// gradient but is none.
Plan updatingPlan() {
  Plan plan;
  for (const char *name : {"w", "u", "merge", "", "g[w]"}) {
    PlanBuffer &buffer = plan.buffers.emplace_back();
    buffer.name = name;
    buffer.bytes = 10;
    buffer.isForGradient = plan.buffers.size() == 3 || plan.buffers.size() == 4;
    if (plan.buffers.size() > 2)
      continue;
    buffer.kind = BufferKind::Parameter;
    buffer.updatedBy = int64_t(plan.buffers.size());
  }
  plan.arenaBytes = 60;
  return plan;
}

/// Adds commands that each touch these buffers.
void touch(Plan &plan, const std::vector<std::vector<int64_t>> &commands) {
  for (const std::vector<int64_t> &buffers : commands) {
    PlanCommand &command = plan.commands.emplace_back();
    for (int64_t buffer : buffers)
      command.accesses.push_back({buffer, {0, 10}, false});
  }
}

TEST(Plan, GradientsOfAnUpdateCountWhileTheyLive) {
  Plan together = updatingPlan();
  touch(together, {{2}, {3}, {2, 0}, {3, 1}, {4}});
  EXPECT_EQ(memoryOf(together).gradients, 20);
  EXPECT_EQ(memoryOf(together).activations, 20);
  Plan inTurn = updatingPlan();
  touch(inTurn, {{2, 4}, {2, 0}, {3}, {3, 1, 4}});
  EXPECT_EQ(memoryOf(inTurn).gradients, 10);
  EXPECT_EQ(memoryOf(inTurn).activations, 30);
  // At the peak there is one gradient, with a larger buffer; at the end there
  // are both.
  Plan apart = updatingPlan();
  apart.buffers[4].bytes = 15;
  touch(apart, {{4}, {2, 4}, {3}, {2, 0}, {3, 1}});
  EXPECT_EQ(memoryOf(apart).gradients, 10);
  EXPECT_EQ(memoryOf(apart).activations, 30);
  EXPECT_EQ(memoryOf(apart).mostGradients, 20);
  // Without an update gradients are results.
  inTurn.buffers[1].updatedBy = inTurn.buffers[0].updatedBy = -1;
  EXPECT_EQ(memoryOf(inTurn).gradients, 0);
}

TEST(Plan, MastersAreApartFromOtherState) {
  Plan plan = updatingPlan();
  for (bool isMaster : {true, false, false}) {
    PlanBuffer &state = plan.buffers.emplace_back();
    state.kind = BufferKind::State;
    state.isMaster = isMaster;
    state.bytes = 7;
  }
  EXPECT_EQ(memoryOf(plan).master, 7);
  EXPECT_EQ(memoryOf(plan).optimizer, 14);
  EXPECT_EQ(memoryOf(plan).parameters, 20);
}

TEST(Plan, ACotangentComesAfterItsResult) {
  Plan plan;
  plan.buffers.resize(4);
  plan.buffers[1].kind = BufferKind::Output;
  plan.buffers[1].number = 3;
  plan.buffers[2].kind = BufferKind::Input;
  plan.buffers[2].of = 3;
  plan.buffers[3].kind = BufferKind::Gradient;
  plan.buffers[3].of = 3;
  EXPECT_EQ(resultsOfCotangents(plan), (Ids{-1, -1, 1, -1}));
}

/// Returns kernels on stream 0 and gathers on two others, without order between
/// streams.
Plan randomStreams(std::mt19937 &random) {
  PlanMaker maker(1);
  Plan &plan = maker.plan;
  plan.mesh = {{"tp", 2, AxisRole::None}};
  plan.numStreams = 3;
  for (int i = 0; i < 20; ++i) {
    maker.command({});
    PlanCommand &command = plan.commands.back();
    command.stream = random() % 3;
    if (command.stream == 0) {
      command.kernel.operations = double(1 + random() % 5) * 1e9;
      continue;
    }
    command.kind = CommandKind::Collective;
    command.collective.kind = CollectiveKind::AllGather;
    command.collective.axes = {0};
    command.collective.group = 2;
    command.collective.bytes = int64_t(1 + random() % 8) << 20;
    command.collective.bytesSent = command.collective.bytes / 2;
    command.collective.row = int64_t(plan.ledger.size());
    plan.ledger.emplace_back().commands = {i};
  }
  return plan;
}

/// The simulated times of the commands equal the rank's spans. A row of one
/// command is exposed as long as that command.
TEST(Plan, ASimulatedRankHasTheSpansOfItsCommands) {
  llvm::Expected<Hardware> hardware = findHardware("h100-sxm");
  ASSERT_TRUE(bool(hardware));
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    Plan plan = randomStreams(random);
    llvm::Expected<SimulatedStep> simulated =
        simulate(plan, CostModel(*hardware, plan.mesh, 0));
    ASSERT_TRUE(bool(simulated));
    double computing = 0;
    for (size_t stream = 0; stream < 3; ++stream)
      for (const TraceSpan &span : simulated->rank.streams[stream]) {
        EXPECT_EQ(plan.commands[span.command].stream, int64_t(stream));
        EXPECT_EQ(span.begin, simulated->commands[span.command].begin);
        EXPECT_EQ(span.end, simulated->commands[span.command].end);
        computing += stream == 0 ? span.seconds() : 0;
      }
    double tolerance = 1e-9 * simulated->seconds;
    EXPECT_NEAR(simulated->computing, computing, tolerance);
    const Exposure &exposure = simulated->exposure;
    for (size_t row = 0; row < plan.ledger.size(); ++row) {
      const CollectiveExposure &command =
          exposure.commands[plan.ledger[row].commands[0]];
      EXPECT_NEAR(exposure.collectives[row].exposed, command.exposed,
                  tolerance);
      EXPECT_EQ(exposure.collectives[row].hiddenUnder, command.hiddenUnder);
    }
  }
}

} // namespace
