// Steps whose times can be computed by hand. On their machines an operation of
// a kernel takes a second, and so does a gathered byte.
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Abi/MemoryUse.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <ctime>

using namespace tpsp;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr double fast = 1e30;

/// Describes a GPU on which a collective holds 20 of 100 cores. Memory moves
/// `memoryRate` bytes a second.
Hardware gpu(double memoryRate = fast) {
  Hardware machine;
  machine.kind = Hardware::Kind::Gpu;
  machine.cores = 100;
  machine.devicesPerNode = 8;
  machine.memory = {{1, memoryRate}};
  machine.kernel = {1, 1, fast, fast, 0, 0};
  machine.insideTier = "wire";
  CollectiveRates gather;
  gather.kind = CollectiveKind::AllGather;
  gather.tier = "wire";
  gather.busBandwidth = 0.5; // half of the gathered bytes are sent
  machine.collectives = {gather};
  machine.collectiveCores = 20;
  return machine;
}

/// Describes a CPU: all ranks share two cores, on each of which an operation
/// takes a second.
Hardware cpu() {
  Hardware machine = gpu();
  machine.kind = Hardware::Kind::Cpu;
  machine.cores = 2;
  machine.collectiveCores = 1;
  return machine;
}

/// Builds a step on a mesh of two ranks.
struct Program {
  Plan step;

  explicit Program(int64_t ranks = 2) {
    step.mesh = {{"tp", ranks, AxisRole::None}};
  }
  PlanCommand &add(CommandKind kind, int64_t stream) {
    step.numStreams = std::max(step.numStreams, stream + 1);
    PlanCommand &command = step.commands.emplace_back();
    command.kind = kind;
    command.stream = stream;
    return command;
  }
  void kernel(double seconds, int64_t stream = 0) {
    add(CommandKind::Kernel, stream).kernel.operations = seconds;
  }
  void gather(int64_t seconds, int64_t stream) {
    CollectiveWork &work = add(CommandKind::Collective, stream).collective;
    work.kind = CollectiveKind::AllGather;
    work.axes = {0};
    work.group = step.numRanks();
    work.bytes = seconds;
    work.bytesSent = seconds / 2;
  }
  void event(CommandKind kind, int64_t number, int64_t stream) {
    step.numEvents = std::max(step.numEvents, number + 1);
    add(kind, stream).event = number;
  }
  void record(int64_t number, int64_t stream) {
    event(CommandKind::EventRecord, number, stream);
  }
  void wait(int64_t number, int64_t stream) {
    event(CommandKind::EventWait, number, stream);
  }
  void touch(int64_t buffer, bool isWrite) {
    BufferPart whole{0, step.buffers[buffer].bytes, 1, 0};
    step.commands.back().accesses.push_back({buffer, whole, isWrite});
  }
  void buffer(int64_t bytes, bool lasts = false) {
    PlanBuffer &added = step.buffers.emplace_back();
    added.bytes = bytes;
    added.kind = lasts ? BufferKind::Input : BufferKind::Temporary;
  }

  SimulatedStep on(const Hardware &machine, int64_t threads = 1) const {
    return llvm::cantFail(
        simulate(step, CostModel(machine, step.mesh, threads)));
  }
  std::string refusal() const {
    auto result = simulate(step, CostModel(gpu(), step.mesh));
    return result ? "" : llvm::toString(result.takeError());
  }
};

} // namespace

TEST(Simulator, OneStreamRunsOneAfterAnother) {
  Program program;
  program.kernel(2);
  program.gather(3, 0);
  program.kernel(4);
  SimulatedStep result = program.on(gpu());
  EXPECT_DOUBLE_EQ(result.seconds, 9);
  EXPECT_DOUBLE_EQ(result.commands[1].begin, 2);
  EXPECT_DOUBLE_EQ(result.commands[1].end, 5);
  EXPECT_DOUBLE_EQ(result.exposure.communication, 3);
  EXPECT_DOUBLE_EQ(result.exposure.exposed, 3);
  EXPECT_DOUBLE_EQ(result.exposure.commands[1].exposed, 3);
  EXPECT_EQ(result.exposure.commands[1].hiddenUnder, -1);
  EXPECT_DOUBLE_EQ(result.computing, 6);
  EXPECT_DOUBLE_EQ(result.linkUtilisation, 1.0 / 0.5 / 9);
}

// While the collective holds 20 of 100 cores, the kernel does 2.4 s of work in
// 3 s.
TEST(Simulator, CollectivesTakeCoresFromKernels) {
  Program program;
  program.gather(3, 1);
  program.kernel(4);
  SimulatedStep result = program.on(gpu());
  EXPECT_DOUBLE_EQ(result.commands[0].end, 3);
  EXPECT_DOUBLE_EQ(result.commands[1].end, 4.6);
  EXPECT_DOUBLE_EQ(result.exposure.exposed, 0);
  EXPECT_EQ(result.exposure.commands[0].hiddenUnder, 1);
  EXPECT_DOUBLE_EQ(result.exposure.hiddenShare(), 1);
}

// Collectives inside a node and between nodes run at once, each at its own
// speed. They occupy cores once: in the first 6 s the kernel does 4.8 s of
// work.
TEST(Simulator, TiersOfLinksRunAtOnce) {
  Hardware machine = gpu();
  machine.devicesPerNode = 2;
  machine.nodes = 2;
  machine.betweenTier = "net";
  machine.collectives.push_back(machine.collectives.front());
  machine.collectives.back().tier = "net";
  Program program;
  program.step.mesh = {{"dp", 2}, {"tp", 2}};
  program.gather(3, 1);
  program.step.commands.back().collective.axes = {1};
  program.gather(6, 2);
  program.kernel(7.8);
  SimulatedStep result = program.on(machine);
  EXPECT_DOUBLE_EQ(result.commands[0].end, 3);
  EXPECT_DOUBLE_EQ(result.commands[1].end, 6);
  EXPECT_DOUBLE_EQ(result.commands[2].end, 6 + (7.8 - 4.8));
  // Both devices of a node gather over the nodes at once, by one adapter.
  machine.adaptersPerNode = 1;
  SimulatedStep shared = program.on(machine);
  EXPECT_DOUBLE_EQ(shared.commands[0].end, 3);
  EXPECT_DOUBLE_EQ(shared.commands[1].end, 12);
}

// The second kernel needs the gathered tensor. The gather begins with the step,
// and is exposed once the first kernel has ended.
TEST(Simulator, WaitsHoldTheirStream) {
  Program program;
  program.kernel(1);
  program.record(0, 0);
  program.wait(0, 1);
  program.gather(4, 1);
  program.record(1, 1);
  program.kernel(2);
  program.wait(1, 0);
  program.kernel(1);
  SimulatedStep result = program.on(gpu());
  EXPECT_DOUBLE_EQ(result.commands[3].begin, 1);
  EXPECT_DOUBLE_EQ(result.commands[5].end, 1 + 2 * 1.25);
  EXPECT_DOUBLE_EQ(result.commands[6].begin, 3.5);
  EXPECT_DOUBLE_EQ(result.commands[6].end, 5);
  EXPECT_DOUBLE_EQ(result.seconds, 6);
  EXPECT_DOUBLE_EQ(result.exposure.exposed, 1.5);
  EXPECT_DOUBLE_EQ(result.exposure.commands[3].exposed, 1.5);
  EXPECT_EQ(result.exposure.commands[3].hiddenUnder, 5);
  EXPECT_DOUBLE_EQ(result.exposure.hiddenShare(), 1 - 1.5 / 4);
}

TEST(Simulator, ExposedTimeIsSharedByTheCollectivesThatRun) {
  Program program;
  program.gather(2, 1);
  program.gather(4, 2);
  SimulatedStep result = program.on(gpu());
  EXPECT_DOUBLE_EQ(result.exposure.communication, 4);
  EXPECT_DOUBLE_EQ(result.exposure.exposed, 4);
  EXPECT_DOUBLE_EQ(result.exposure.commands[0].exposed, 1);
  EXPECT_DOUBLE_EQ(result.exposure.commands[1].exposed, 3);
}

// A wait refers to the last record before it, in the order of issue.
TEST(Simulator, EventsAreRecordedAgain) {
  Program program;
  program.kernel(1);
  program.record(0, 0);
  program.wait(0, 1);
  program.gather(1, 1);
  program.kernel(4);
  program.record(0, 0);
  program.wait(0, 1);
  program.gather(1, 1);
  SimulatedStep result = program.on(gpu());
  EXPECT_DOUBLE_EQ(result.commands[3].begin, 1);
  EXPECT_DOUBLE_EQ(result.commands[7].begin, result.commands[4].end);
}

// The kernel's 4 bytes take memory 4 s. The gather's 2 bytes take it 2 s of the
// gather's 4. Together they need 1.5 times the memory's rate. So the kernel
// takes 1.5 times as long until the gather, which links bound, has ended.
TEST(Simulator, MemoryIsShared) {
  Program program;
  program.buffer(4);
  program.buffer(2);
  program.gather(4, 1);
  program.touch(1, true);
  program.kernel(0);
  program.touch(0, true);
  SimulatedStep result = program.on(gpu(/*memoryRate=*/1));
  EXPECT_DOUBLE_EQ(result.commands[0].end, 4);
  EXPECT_NEAR(result.commands[1].end, 4 + (4 - 4 / 1.5), 1e-9);
}

TEST(Simulator, TheHostIssuesOneAfterAnother) {
  Program program;
  for (int i = 0; i < 10; ++i)
    program.kernel(0.5);
  Hardware machine = gpu();
  machine.issueSeconds = 1;
  EXPECT_DOUBLE_EQ(program.on(machine).seconds, 10.5);
  machine.issueSeconds = 0.1;
  machine.launchSeconds = 0.25;
  EXPECT_DOUBLE_EQ(program.on(machine).seconds, 0.1 + 7.5);
}

// Four ranks share two cores, half a core each.
TEST(Simulator, RanksShareACpu) {
  Program program(4);
  program.kernel(1);
  EXPECT_DOUBLE_EQ(program.on(cpu()).seconds, 2);
}

// Two ranks have a core each. The communication thread and the compute thread
// share it, so that both take 2 s instead of 1 s each.
TEST(Simulator, StreamsShareARanksCores) {
  Program program(2);
  program.gather(1, 1);
  program.kernel(1);
  SimulatedStep result = program.on(cpu());
  EXPECT_DOUBLE_EQ(result.seconds, 2);
  EXPECT_DOUBLE_EQ(result.exposure.exposed, 0);
}

// Links that need no core do not slow a CPU down.
TEST(Simulator, LinksBesideTheCores) {
  Program program(2);
  program.gather(1, 1);
  program.kernel(1);
  Hardware machine = cpu();
  machine.collectiveCores = 0;
  EXPECT_DOUBLE_EQ(program.on(machine).seconds, 1);
}

// Stream 0 is the thread that issues commands. So a command after its kernel is
// issued when the kernel has ended.
TEST(Simulator, ACpuIssuesFromStream0) {
  Program program(2);
  program.kernel(1);
  program.gather(1, 1);
  SimulatedStep result = program.on(cpu());
  EXPECT_DOUBLE_EQ(result.commands[1].begin, 1);
  EXPECT_DOUBLE_EQ(program.on(gpu()).commands[1].begin, 0);
}

// The gather's thread sleeps until the kernel before it is done, and the rank's
// own thread until the gather is done. The kernel in between keeps that thread
// awake.
TEST(Simulator, SleepingThreadsAreWoken) {
  Program program(2);
  program.kernel(1);
  program.gather(1, 1);
  program.record(0, 1);
  program.wait(0, 0);
  program.kernel(1);
  program.kernel(1);
  Hardware machine = cpu();
  machine.handoffSeconds = 0.25;
  SimulatedStep result = program.on(machine);
  EXPECT_DOUBLE_EQ(result.commands[1].begin, 1);
  EXPECT_DOUBLE_EQ(result.commands[1].end, 2.25);
  EXPECT_DOUBLE_EQ(result.commands[4].end, 3.5);
  EXPECT_DOUBLE_EQ(result.seconds, 4.5);
}

TEST(Simulator, MemoryFollowsTheUsers) {
  Program program;
  program.buffer(100, /*lasts=*/true);
  program.buffer(10);
  program.buffer(30);
  program.buffer(7); // unused
  program.kernel(1);
  program.touch(1, true);
  program.kernel(2);
  program.touch(1, false);
  program.touch(2, true);
  program.kernel(4);
  program.touch(2, false);
  const MemoryUse use = memoryUse(program.step, program.on(gpu()).rank);
  std::vector<std::pair<double, int64_t>> memory;
  for (const TraceSample &point : use.curve)
    memory.push_back({point.seconds, int64_t(point.value)});
  EXPECT_THAT(memory, ElementsAre(std::pair(0.0, 110), std::pair(1.0, 140),
                                  std::pair(3.0, 130), std::pair(7.0, 100)));
  EXPECT_EQ(use.peakBytes, 140);
  EXPECT_DOUBLE_EQ(use.peakSeconds, 1);
  EXPECT_THAT(use.liveAtPeak, ElementsAre(0, 2, 1));
}

TEST(Simulator, MatmulsCountAgainstThePeak) {
  Program program;
  MatmulWork work{2, 2, 2};
  program.add(CommandKind::Matmul, 0).matmul = work;
  Hardware machine = gpu();
  machine.matmul[TPSP_RT_F32] = {
      /*peak=*/4, /*sustained=*/2, {2}, {2}, {2}, {2}, {}, {}};
  SimulatedStep result = program.on(machine);
  EXPECT_DOUBLE_EQ(result.seconds, 8);
  EXPECT_DOUBLE_EQ(result.matmulUtilisation, 0.5);
}

TEST(Simulator, WrongStepsAreRefused) {
  Program early;
  early.wait(0, 0);
  early.step.commands[0].call = "event_wait";
  EXPECT_THAT(early.refusal(),
              HasSubstr("command 0 (event_wait) waits for event 0, which "
                        "nothing before it records"));
  Program stream;
  stream.kernel(1, 3);
  stream.step.numStreams = 2;
  EXPECT_THAT(stream.refusal(), HasSubstr("is on stream 3, but there are 2"));
  Program event;
  event.record(4, 0);
  event.step.numEvents = 1;
  EXPECT_THAT(event.refusal(), HasSubstr("uses event 4, but there are 1"));
}

TEST(Simulator, NothingTakesNoTime) {
  SimulatedStep result = Program().on(gpu());
  EXPECT_EQ(result.seconds, 0);
  EXPECT_EQ(result.exposure.hiddenShare(), 1);
}

// A step of many layers, each with concurrent communication.
TEST(Simulator, TimeGrowsWithTheCommands) {
  Program program;
  for (int layer = 0; layer < 40000; ++layer) {
    program.gather(2, 1);
    program.record(0, 1);
    program.kernel(1);
    program.wait(0, 0);
    program.kernel(1);
  }
  // Processor time of this process; a quadratic simulator takes minutes.
  std::clock_t begin = std::clock();
  SimulatedStep result = program.on(gpu());
  EXPECT_GT(result.seconds, 80000);
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 30);
}
