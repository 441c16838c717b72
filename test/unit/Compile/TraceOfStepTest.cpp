/// Who reads whose results, and which memory commands use.
#include "tpsp/Compile/TraceOfStep.h"

#include "tpsp/Runtime/Driver/Exposure.h"

#include <gtest/gtest.h>

#include <random>

using namespace tpsp;

namespace {

using Ids = std::vector<int64_t>;

class StepMaker {
public:
  explicit StepMaker(size_t buffers) {
    step.buffers.resize(buffers);
    for (StepBuffer &buffer : step.buffers)
      buffer.bytes = 100;
  }

  void command(std::vector<StepAccess> accesses) {
    step.commands.emplace_back();
    step.commands.back().accesses = std::move(accesses);
    step.commands.back().name =
        "command " + std::to_string(step.commands.size() - 1);
  }

  rt::StepTrace trace() const {
    rt::Manifest manifest;
    manifest.commands = static_cast<int64_t>(step.commands.size());
    return traceOf(step, manifest);
  }

  Step step;
};

constexpr BufferPart whole = {0, 100, 1, 0};
StepAccess reads(int64_t buffer, BufferPart part = whole) {
  return {buffer, part, false};
}
StepAccess writes(int64_t buffer, BufferPart part = whole) {
  return {buffer, part, true};
}

TEST(TraceOfStep, AReaderReadsTheLastWriter) {
  StepMaker maker(2);
  maker.command({writes(0)});
  maker.command({reads(0), writes(1)});
  maker.command({writes(0)});
  maker.command({reads(0), reads(1)});
  rt::StepTrace trace = maker.trace();
  EXPECT_EQ(trace.commands[0].reads, Ids());
  EXPECT_EQ(trace.commands[1].reads, Ids({0}));
  EXPECT_EQ(trace.commands[2].reads, Ids());
  EXPECT_EQ(trace.commands[3].reads, (Ids{1, 2}));
  EXPECT_EQ(trace.commands[3].name, "command 3");
  EXPECT_EQ(trace.buffers[0].users, (Ids{0, 1, 2, 3}));
  EXPECT_EQ(trace.buffers[1].users, (Ids{1, 3}));
}

TEST(TraceOfStep, PartsAreWrittenApart) {
  constexpr BufferPart first = {0, 50, 1, 0}, second = {50, 50, 1, 0};
  StepMaker maker(1);
  maker.command({writes(0, first)});
  maker.command({writes(0, second)});
  maker.command({reads(0, second)});
  maker.command({reads(0)});
  maker.command({writes(0, first)});
  maker.command({reads(0)});
  rt::StepTrace trace = maker.trace();
  EXPECT_EQ(trace.commands[2].reads, Ids({1}));
  EXPECT_EQ(trace.commands[3].reads, (Ids{0, 1}));
  EXPECT_EQ(trace.commands[5].reads, (Ids{1, 4}));
}

TEST(TraceOfStep, ACommandThatUpdatesReadsWhatWasThere) {
  StepMaker maker(1);
  maker.command({writes(0)});
  maker.command({reads(0), writes(0)});
  maker.command({reads(0)});
  rt::StepTrace trace = maker.trace();
  EXPECT_EQ(trace.commands[1].reads, Ids({0}));
  EXPECT_EQ(trace.commands[2].reads, Ids({1}));
}

TEST(TraceOfStep, EventsComputeNothing) {
  StepMaker maker(1);
  maker.command({});
  maker.step.commands[0].kind = StepKind::EventWait;
  maker.step.buffers[0].isResult = true;
  rt::StepTrace trace = maker.trace();
  EXPECT_EQ(trace.commands[0].kind, rt::TraceCommand::Kind::Event);
  EXPECT_TRUE(trace.buffers[0].lasts);
}

/// Kernels on stream 0 and gathers on two others, without order between them.
StepMaker randomStreams(std::mt19937 &random) {
  StepMaker maker(1);
  maker.step.mesh = Mesh({{"tp", 2, AxisRole::None}});
  maker.step.numStreams = 3;
  for (int i = 0; i < 20; ++i) {
    maker.command({});
    StepCommand &command = maker.step.commands.back();
    command.stream = random() % 3;
    if (command.stream == 0) {
      command.kernel.operations = double(1 + random() % 5) * 1e9;
      continue;
    }
    command.kind = StepKind::Collective;
    command.collective.kind = CollectiveKind::AllGather;
    command.collective.axes = {0};
    command.collective.group = 2;
    command.collective.bytes = int64_t(1 + random() % 8) << 20;
    command.collective.bytesSent = command.collective.bytes / 2;
  }
  return maker;
}

/// The simulator and the pictures have the same notion of what is exposed.
TEST(TraceOfStep, APredictionIsExposedWhereTheSimulatorSaysSo) {
  llvm::Expected<Hardware> hardware = findHardware("h100-sxm");
  ASSERT_TRUE(bool(hardware));
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    StepMaker maker = randomStreams(random);
    llvm::Expected<SimulatedStep> simulated =
        simulate(maker.step, CostModel(*hardware, maker.step.mesh, 0));
    ASSERT_TRUE(bool(simulated));
    rt::Manifest manifest;
    manifest.mesh = {{"tp", 2}};
    manifest.commands = int64_t(maker.step.commands.size());
    for (size_t i = 0; i < maker.step.commands.size(); ++i)
      if (maker.step.commands[i].kind == StepKind::Collective) {
        manifest.collectives.emplace_back();
        manifest.collectives.back().commands = {int64_t(i)};
      }
    rt::StepTrace trace = traceOf(maker.step, manifest);
    fillSimulated(trace, maker.step, *simulated);
    rt::Exposure exposure = rt::exposureOf(trace);
    double tolerance = 1e-9 * simulated->seconds;
    EXPECT_NEAR(trace.seconds(), simulated->seconds, tolerance);
    EXPECT_NEAR(exposure.communication, simulated->communication, tolerance);
    EXPECT_NEAR(exposure.exposed, simulated->exposed, tolerance);
    for (size_t row = 0; row < manifest.collectives.size(); ++row) {
      const SimulatedCommand &command =
          simulated->commands[manifest.collectives[row].commands[0]];
      EXPECT_NEAR(exposure.collectives[row].exposed, command.exposed,
                  tolerance);
      EXPECT_EQ(exposure.collectives[row].hiddenUnder, command.hiddenUnder);
    }
  }
}

} // namespace
