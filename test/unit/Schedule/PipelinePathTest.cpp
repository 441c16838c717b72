/// The chain of commands that a pipeline's time is made of.
#include "tpsp/Schedule/PipelinePath.h"

#include <gtest/gtest.h>

#include <random>

using namespace tpsp;

/// A problem whose stages and sends take random times.
static PipelineProblem randomProblem(std::mt19937 &random) {
  auto upTo = [&](int64_t most) {
    return int64_t(random() % uint64_t(most)) + 1;
  };
  PipelineProblem problem;
  problem.stages = upTo(5);
  problem.chunksPerStage = upTo(3);
  problem.parts = upTo(8);
  int64_t chunks = problem.stages * problem.chunksPerStage;
  for (int64_t i = 0; i < chunks; ++i) {
    PipelineProblem::Chunk chunk;
    chunk.forward = double(upTo(20));
    chunk.input = double(upTo(20));
    chunk.weights = double(upTo(20));
    chunk.backward = chunk.input + chunk.weights;
    chunk.sendForward = double(upTo(6));
    chunk.sendBackward = double(upTo(6));
    problem.chunks.push_back(chunk);
  }
  const std::vector<PipelinePolicy> &policies = pipelinePolicies();
  apply(policies[random() % policies.size()], /*units=*/0, problem);
  return problem;
}

/// Without pauses, the path's commands add up to the time of the schedule. A
/// command that could have begun earlier has no command right before it.
TEST(PipelinePath, FillsTheWholeTime) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    PipelineProblem problem = randomProblem(random);
    PipelineSchedule schedule = schedulePipeline(problem);
    size_t last = 0;
    for (size_t i = 0; i < schedule.commands.size(); ++i)
      if (schedule.commands[i].end > schedule.commands[last].end)
        last = i;
    double at = 0;
    for (size_t i : criticalCommands(problem, schedule, last)) {
      EXPECT_DOUBLE_EQ(schedule.commands[i].start, at) << "trial " << trial;
      at = schedule.commands[i].end;
    }
    EXPECT_DOUBLE_EQ(at, schedule.seconds) << "trial " << trial;
  }
}
