// The simulated step of a pipeline, held against the plan that is compiled.
#include "tpsp/Planning/StageSimulation.h"
#include "tpsp/Abi/StepOrder.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/InitAll.h"
#include "tpsp/Schedule/StageOrder.h"

#include "gtest/gtest.h"

#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

/// The longest path through the actions of all stages. Both sides of a transfer
/// are one node.
class StageClock {
public:
  StageClock(const Plan &plan, std::vector<double> seconds)
      : plan(plan), seconds(std::move(seconds)) {
    for (int64_t stage = 0; stage < plan.numStages(); ++stage)
      orders.push_back(StepOrder::of(plan, stage).actions);
    makeNodes();
    for (size_t stage = 0; stage < orders.size(); ++stage)
      connect(stage);
  }

  /// Seconds from the first action's begin to the last one's end.
  double run() {
    std::vector<int64_t> ready;
    for (size_t node = 0; node < nodes.size(); ++node)
      if (nodes[node].missing == 0)
        ready.push_back(int64_t(node));
    while (!ready.empty()) {
      const Node &own = nodes[ready.back()];
      ready.pop_back();
      for (int64_t number : own.followers) {
        Node &follower = nodes[number];
        follower.begin = std::max(follower.begin, own.begin + own.seconds);
        if (--follower.missing == 0)
          ready.push_back(number);
      }
    }
    double end = 0;
    for (const Node &node : nodes) {
      EXPECT_EQ(node.missing, 0);
      end = std::max(end, node.begin + node.seconds);
    }
    return end;
  }

private:
  struct Node {
    double seconds = 0, begin = 0;
    /// The actions that follow it, and how many it waits for.
    std::vector<int64_t> followers;
    int64_t missing = 0;
  };

  /// Makes a node of each action but receives, which share that of their send.
  void makeNodes() {
    std::map<std::pair<int64_t, int64_t>, int64_t> sends;
    for (bool isReceive : {false, true})
      for (size_t stage = 0; stage < orders.size(); ++stage) {
        nodeOf.resize(orders.size());
        nodeOf[stage].resize(orders[stage].size());
        for (size_t i = 0; i < orders[stage].size(); ++i) {
          const IssuedAction &action = orders[stage][i];
          const PlanSegment &segment = plan.segments[action.segment];
          if ((segment.work == SegmentWork::Receive) != isReceive)
            continue;
          if (isReceive) {
            nodeOf[stage][i] = sends.at({segment.peer, action.microBatch});
            continue;
          }
          nodeOf[stage][i] = int64_t(nodes.size());
          if (segment.work == SegmentWork::Send)
            sends[{action.segment, action.microBatch}] = int64_t(nodes.size());
          nodes.emplace_back().seconds = seconds[action.segment];
        }
      }
  }

  void connect(size_t stage) {
    std::map<int64_t, int64_t> lastOfStream;
    for (size_t i = 0; i < orders[stage].size(); ++i) {
      const IssuedAction &action = orders[stage][i];
      for (int64_t before : action.waits)
        follow(nodeOf[stage][before], nodeOf[stage][i]);
      auto [last, isFirst] =
          lastOfStream.try_emplace(action.stream, nodeOf[stage][i]);
      if (!isFirst)
        follow(std::exchange(last->second, nodeOf[stage][i]), nodeOf[stage][i]);
    }
  }

  void follow(int64_t before, int64_t after) {
    nodes[before].followers.push_back(after);
    ++nodes[after].missing;
  }

  const Plan &plan;
  /// The seconds of each segment.
  const std::vector<double> seconds;
  std::vector<std::vector<IssuedAction>> orders;
  std::vector<Node> nodes;
  /// The node of each action, for each stage in turn.
  std::vector<std::vector<int64_t>> nodeOf;
};

struct Case {
  const char *schedule;
  int64_t chunks, microBatches, units;
  double clip;
  /// The step is simulated without overlap if that is faster.
  const char *overlap = "off";
};

class StageSimulationTest : public testing::TestWithParam<Case> {};

/// With several chunks a stage sends and receives forward, which share a
/// stream. The simulation does not know that.
TEST_P(StageSimulationTest, StepIsTheLongestPathOfTheCompiledPlan) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  const Case &given = GetParam();
  StageRequest request;
  CompileOptions &options = request.compile;
  options.grad = true;
  options.optimizer = "adamw";
  options.forGpu = true;
  options.attention = "fused";
  options.hardware = "h100-sxm";
  options.mesh = {"pp=2", "tp=2"};
  options.overlap = given.overlap;
  options.extents = {"b=24"};
  // Long enough for overlap to pay.
  if (options.overlap != "off")
    options.extents = {"b=24", "s=4096", "d=512", "e=2048", "v=8192"};
  options.microBatches = given.microBatches;
  options.clip = given.clip;
  options.stageSchedule = given.schedule;
  options.stageBound = given.units;
  options.stageChunks = request.chunksPerStage = given.chunks;
  const std::string path = TPSP_EXAMPLES "/pp.mlir";
  const Hardware hardware = *findHardware("h100-sxm");
  auto simulated = compileAndSimulateStages(context, path, request,
                                            {given.schedule, given.units},
                                            hardware, [](llvm::StringRef) {});
  ASSERT_TRUE(bool(simulated)) << llvm::toString(simulated.takeError());
  EXPECT_EQ(simulated->overlap, given.overlap);
  auto module = parseModel(context, path, /*isRevised=*/true);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  auto plan = planOfModule(std::move(*module), path, options);
  ASSERT_TRUE(bool(plan)) << llvm::toString(plan.takeError());

  CostModel cost(hardware, Mesh((*plan)->mesh));
  auto seconds = segmentSeconds(**plan, cost);
  ASSERT_TRUE(bool(seconds)) << llvm::toString(seconds.takeError());
  double longest = StageClock(**plan, *seconds).run() + cost.stepSeconds();
  const PipelineStep &step = simulated->simulation.step;
  double most = given.chunks > 1 ? 0.03 : given.clip > 0 ? 0.01 : 0.005;
  EXPECT_NEAR(step.seconds / longest, 1, most);
  for (int64_t stage = 0; stage < 2; ++stage)
    EXPECT_EQ(step.stages[stage].peak, (*plan)->stageArenas[stage]);
}

INSTANTIATE_TEST_SUITE_P(
    Schedules, StageSimulationTest,
    testing::Values(Case{"1f1b", 1, 4, 0, 0}, Case{"1f1b", 2, 6, 0, 1},
                    Case{"gpipe", 1, 3, 0, 0}, Case{"zero-bubble", 1, 8, 4, 0},
                    Case{"zero-bubble", 2, 4, 0, 1}, Case{"1f1b", 1, 12, 1, 0},
                    Case{"1f1b", 2, 6, 0, 0}, Case{"zero-bubble", 2, 8, 0, 0},
                    Case{"1f1b", 1, 4, 0, 1}, Case{"1f1b", 1, 4, 0, 1, "on"},
                    Case{"1f1b", 2, 4, 0, 0, "on"},
                    Case{"zero-bubble", 1, 4, 0, 1, "on"}),
    [](const auto &info) { return std::to_string(info.index); });

} // namespace
