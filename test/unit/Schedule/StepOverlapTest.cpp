// The overlap problem of a step: streams, and how much is gathered ahead.
#include "tpsp/Schedule/StepOverlap.h"

#include "ScheduleOracle.h"

#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/StreamIssue.h"

#include <gmock/gmock.h>

#include <numeric>

using namespace tpsp;

namespace {

constexpr int64_t weightBytes = 1 << 22;

/// The forward pass of `layers` layers under FSDP: layer i gathers its weight
/// (command 2 i) and multiplies by it (command 2 i + 1).
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

/// What a machine of 8 GPUs makes of it.
OverlapProblem problemOf(const Plan &step, int64_t buffers) {
  llvm::Expected<Hardware> machine = findHardware("h100-sxm");
  if (!machine)
    throw std::runtime_error(llvm::toString(machine.takeError()));
  return overlapProblemOf(step, CostModel(*machine, step.mesh), buffers);
}

/// Whatever commands really take, gather i + buffers waits for layer i: there
/// are never more gathered weights than that.
TEST(StepOverlap, GathersKeepToTheirBuffers) {
  constexpr int64_t layers = 12;
  Plan step = shardedLayers(layers);
  for (int64_t buffers : {1, 2, 3}) {
    OverlapProblem problem = problemOf(step, buffers);
    ASSERT_EQ(problem.check(), std::nullopt);
    OverlapSchedule schedule = scheduleList(problem);
    ASSERT_EQ(verify(problem, schedule), std::nullopt);
    EXPECT_TRUE(schedule.overdrawn.empty());
    std::vector<IssueItem> items = issueOf(problem, schedule);
    Plan issued;
    issued.numStreams = problem.numStreams;
    std::vector<int64_t> positionOf(step.commands.size());
    for (const IssueItem &item : items) {
      PlanCommand &command = issued.commands.emplace_back();
      command.stream = item.stream;
      if (item.kind == IssueItem::Run) {
        positionOf[item.number] = issued.commands.size() - 1;
        continue;
      }
      command.event = item.number;
      command.kind = item.kind == IssueItem::Record ? CommandKind::EventRecord
                                                    : CommandKind::EventWait;
    }
    std::vector<int64_t> all(items.size());
    std::iota(all.begin(), all.end(), 0);
    std::string wrong;
    IssueClosure closure(issued, all, wrong);
    ASSERT_EQ(wrong, "");
    for (int64_t layer = 0; layer + buffers < layers; ++layer) {
      int64_t used = positionOf[2 * layer + 1];
      EXPECT_TRUE(closure.endsBefore(used, positionOf[2 * (layer + buffers)]))
          << "gather " << layer + buffers << " with " << buffers << " buffers";
      if (layer > 0) {
        EXPECT_FALSE(
            closure.endsBefore(used, positionOf[2 * (layer + buffers - 1)]))
            << "gather " << layer + buffers - 1 << " has a buffer free";
      }
    }
  }
}

TEST(StepOverlap, ClaimsAreReleasedByTheLastReader) {
  OverlapProblem problem = problemOf(shardedLayers(3), 2);
  ASSERT_EQ(problem.numStreams, 2);
  for (int64_t layer = 0; layer < 3; ++layer) {
    const OverlapProblem::Command &gather = problem.commands[2 * layer];
    EXPECT_EQ(gather.stream, 1);
    ASSERT_EQ(gather.claims.size(), 1u);
    EXPECT_EQ(gather.claims[0].bytes, weightBytes);
    EXPECT_THAT(gather.claims[0].releasedBy,
                testing::ElementsAre(2 * layer + 1));
    EXPECT_EQ(problem.pools[gather.claims[0].pool].capacity, 2 * weightBytes);
    EXPECT_THAT(problem.commands[2 * layer + 1].after,
                testing::Contains(2 * layer));
  }
}

/// A buffer that several collectives fill, part by part, has its room before
/// any of them writes.
TEST(StepOverlap, PartsComeIntoMemoryThatIsClaimed) {
  Plan step = shardedLayers(1);
  PlanCommand second = step.commands[0];
  for (PlanCommand *part : {&step.commands[0], &second})
    for (PlanAccess &access : part->accesses)
      access.part.length /= 2;
  for (PlanAccess &access : second.accesses)
    access.part.begin += access.part.length;
  step.commands.insert(step.commands.begin() + 1, second);
  OverlapProblem problem = problemOf(step, 2);
  EXPECT_EQ(problem.commands[0].claims.size(), 1u);
  EXPECT_TRUE(problem.commands[1].claims.empty());
  EXPECT_THAT(problem.commands[1].after, testing::Contains(0));
}

/// A communicator is its axes in any order; a group of one sends nothing.
TEST(StepOverlap, AStreamForEveryCommunicator) {
  Plan step;
  step.mesh = {{"a", 2, AxisRole::None},
               {"b", 2, AxisRole::None},
               {"c", 1, AxisRole::None}};
  std::vector<std::pair<std::vector<AxisId>, int64_t>> expected = {
      {{1}, 1}, {{0}, 2}, {{0, 1}, 3}, {{2}, 0}, {{1, 0}, 3}, {{1}, 1}};
  for (const auto &[axes, stream] : expected) {
    PlanCommand collective;
    collective.kind = CommandKind::Collective;
    collective.collective.axes = axes;
    collective.collective.group = Mesh(step.mesh).groupSize(axes);
    collective.collective.bytes = 64;
    step.commands.push_back(collective);
  }
  OverlapProblem problem = problemOf(step, 2);
  EXPECT_EQ(problem.numStreams, 4);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(problem.commands[i].stream, expected[i].second) << i;
}

} // namespace
