// Schedules of micro-batches on stages, against the known formulas and by the
// check. The check itself is tested with wrong schedules.
#include "PipelineCheck.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace tpsp;
using Work = PipelineWork;

namespace {

/// Returns stages with `v` chunks each, which take 1/v forward and 2/v
/// backward.
PipelineProblem equalStages(int64_t p, int64_t m, int64_t v) {
  PipelineProblem problem;
  problem.stages = p;
  problem.chunksPerStage = v;
  problem.parts = m;
  double one = 1.0 / double(v);
  problem.chunks.assign(p * v, {one, 2 * one, one, one, 0, 0});
  return problem;
}

PipelineSchedule scheduled(PipelineProblem &problem, const char *policy,
                           int64_t units = 0) {
  apply(*findPolicy(policy), units, problem);
  EXPECT_EQ(problem.check(), std::nullopt);
  PipelineSchedule schedule = schedulePipeline(problem);
  EXPECT_EQ(verify(problem, schedule), std::nullopt);
  return schedule;
}

/// Returns the bubble of every stage; all compute for the same time.
double bubble(const PipelineProblem &problem, const PipelineSchedule &of) {
  return 1 - 3 * double(problem.parts) / of.seconds;
}

TEST(PipelineProblemTest, BubblesAreTheKnownOnes) {
  for (int64_t p : {1, 2, 3, 4, 7, 8})
    for (int64_t m : {1, 2, 5, 8, 13, 32})
      for (const char *policy : {"gpipe", "1f1b"}) {
        PipelineProblem problem = equalStages(p, m, 1);
        PipelineSchedule schedule = scheduled(problem, policy);
        EXPECT_NEAR(bubble(problem, schedule), double(p - 1) / (m + p - 1),
                    1e-9)
            << policy << " p=" << p << " m=" << m;
      }
}

TEST(PipelineProblemTest, InterleavingDividesTheBubble) {
  for (int64_t p : {2, 3, 4, 8})
    for (int64_t v : {2, 3, 5})
      for (int64_t rounds : {1, 2, 3}) {
        PipelineProblem problem = equalStages(p, rounds * p, v);
        PipelineSchedule schedule = scheduled(problem, "1f1b");
        double idle = double(p - 1) / double(v);
        EXPECT_NEAR(bubble(problem, schedule), idle / (rounds * p + idle), 1e-9)
            << "p=" << p << " v=" << v << " m=" << rounds * p;
      }
}

TEST(PipelineProblemTest, OneForwardOneBackwardSavesFew) {
  for (int64_t p : {1, 2, 4, 7}) {
    PipelineProblem problem = equalStages(p, 16, 1);
    PipelineSchedule all = scheduled(problem, "gpipe");
    PipelineSchedule few = scheduled(problem, "1f1b");
    for (int64_t stage = 0; stage < p; ++stage) {
      EXPECT_EQ(all.saved[stage], 16);
      EXPECT_EQ(few.saved[stage], p - stage);
    }
  }
}

TEST(PipelineProblemTest, WeightGradientsFillTheBubble) {
  for (int64_t p : {2, 3, 4, 8})
    for (int64_t m : {p, 2 * p + 1, 4 * p}) {
      PipelineProblem problem = equalStages(p, m, 1);
      double without = scheduled(problem, "1f1b").seconds;
      double same = scheduled(problem, "zero-bubble").seconds;
      // With as many units as 1F1B's first stage the bubble is (p - 1)(F + B -
      // W), a third of 1F1B's.
      EXPECT_NEAR(same, 3.0 * m + p - 1, 1e-9) << "p=" << p << " m=" << m;
      EXPECT_NEAR(without, 3.0 * (m + p - 1), 1e-9);
      // With the units of 1F1B it is never slower.
      for (int64_t stage = 0; stage < p; ++stage)
        problem.bound[stage] = std::min(p - stage, m);
      PipelineSchedule few = schedulePipeline(problem);
      EXPECT_EQ(verify(problem, few), std::nullopt);
      EXPECT_LE(few.seconds, without + 1e-9) << "p=" << p << " m=" << m;
    }
}

// ZB-V (Qi et al., "Pipeline Parallelism with Controllable Memory", 2024) has
// two folded chunks on each stage. Weights' gradients fill the whole bubble,
// and no stage saves more than 1F1B's first one.
TEST(PipelineProblemTest, AFoldHasNoBubbleWithTheMemoryOf1f1b) {
  for (int64_t p : {2, 3, 4, 8})
    for (int64_t m : {2 * p, 3 * p + 1}) {
      PipelineProblem problem = equalStages(p, m, 2);
      problem.isFolded = true;
      PipelineSchedule schedule = scheduled(problem, "zero-bubble");
      // The last stage waits for the first micro-batch alone.
      EXPECT_LE(schedule.seconds, 3.0 * m + (p - 1) / 2.0 + 1e-9)
          << "p=" << p << " m=" << m;
      for (int64_t units : schedule.saved)
        EXPECT_LE(units, 2 * p);
    }
}

// A tensor that comes a moment late must not break the regular order.
TEST(PipelineProblemTest, AFoldWithSendsIsLittleSlower) {
  for (int64_t p : {4, 8})
    for (double send : {1e-6, 1e-2}) {
      int64_t m = 2 * p;
      PipelineProblem problem = equalStages(p, m, 2);
      problem.isFolded = true;
      for (PipelineProblem::Chunk &chunk : problem.chunks)
        chunk.sendForward = chunk.sendBackward = send;
      PipelineSchedule schedule = scheduled(problem, "zero-bubble");
      double without = 3.0 * double(m) + double(p - 1) / 2.0;
      EXPECT_LE(schedule.seconds, without + 8 * double(m) * send)
          << "p=" << p << " send=" << send;
    }
}

// Only if the last chunk is on the stage of the first one do all save as much.
TEST(PipelineProblemTest, AnOddNumberOfTurnsKeepsTheUnitsOf1f1b) {
  for (int64_t v : {1, 2, 3}) {
    PipelineProblem problem = equalStages(4, 8, v);
    problem.isFolded = true;
    apply(*findPolicy("1f1b"), 0, problem);
    EXPECT_EQ(problem.bound.back(), v % 2 == 0 ? 4 * v : 4 * v - 3);
  }
}

TEST(PipelineProblemTest, AFoldSendsNothingWithinAStage) {
  PipelineProblem problem = equalStages(3, 4, 2);
  problem.isFolded = true;
  std::vector<int64_t> stages;
  for (int64_t chunk = 0; chunk < 6; ++chunk)
    stages.push_back(problem.stageOf(chunk));
  EXPECT_EQ(stages, (std::vector<int64_t>{0, 1, 2, 2, 1, 0}));
  EXPECT_EQ(problem.chunksOf(1), (std::vector<int64_t>{1, 4}));
  for (const PipelineCommand &command : scheduled(problem, "1f1b").commands) {
    EXPECT_FALSE(command.work == Work::SendForward && command.chunk == 2);
    EXPECT_FALSE(command.work == Work::SendBackward && command.chunk == 3);
  }
}

TEST(PipelineProblemTest, WithoutBackwardOnlyFillingIdles) {
  for (int64_t p : {1, 3, 4})
    for (int64_t m : {1, 7}) {
      PipelineProblem problem = equalStages(p, m, 1);
      problem.hasBackward = false;
      EXPECT_NEAR(scheduled(problem, "1f1b").seconds, double(m + p - 1), 1e-9);
    }
}

/// Returns random stages, chunks, times and bounds, including 0 and 1.
PipelineProblem randomProblem(std::mt19937 &random) {
  auto upTo = [&](int64_t most) { return int64_t(random() % (most + 1)); };
  auto time = [&] { return random() % 5 == 0 ? 0 : double(upTo(996)) / 997; };
  PipelineProblem problem;
  problem.stages = 1 + upTo(4);
  problem.chunksPerStage = 1 + upTo(2);
  problem.isFolded = upTo(1) == 1;
  problem.parts = 1 + upTo(8);
  problem.hasBackward = upTo(7) > 0;
  problem.splitsWeights = problem.hasBackward && upTo(1) == 1;
  for (int64_t i = 0; i < problem.stages * problem.chunksPerStage; ++i) {
    PipelineProblem::Chunk chunk = {time(), 0, time(), time(), time(), time()};
    chunk.backward = chunk.input + chunk.weights;
    problem.chunks.push_back(chunk);
  }
  for (int64_t i = 0; i < problem.stages; ++i)
    problem.bound.push_back(problem.chunksPerStage +
                            upTo(problem.chunksPerStage * (problem.parts - 1)));
  return problem;
}

TEST(PipelineProblemTest, RandomStagesKeepDependencesAndBounds) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    PipelineProblem problem = randomProblem(random);
    ASSERT_EQ(problem.check(), std::nullopt);
    PipelineSchedule schedule = schedulePipeline(problem);
    ASSERT_EQ(verify(problem, schedule), std::nullopt) << i;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      if (problem.hasBackward) {
        ASSERT_LE(schedule.saved[stage], problem.bound[stage]) << i;
      }
    }
  }
}

// The planner's bound of memory relies on this. The first and the last chunk
// have more work.
TEST(PipelineProblemTest, TheFirstStageSavesAllThatItMay) {
  std::mt19937 random(5);
  auto below = [&](double limit) {
    return std::uniform_real_distribution<double>(0, limit)(random);
  };
  for (int trial = 0; trial < 300; ++trial) {
    int64_t p = 2 + int64_t(random() % 7), v = 1 + int64_t(random() % 6);
    int64_t m = p * (1 + int64_t(random() % 3)) + int64_t(random() % 4);
    PipelineProblem problem = equalStages(p, m, 1);
    problem.chunksPerStage = v;
    double send = below(1), backward = 1.8 + below(1.2);
    problem.chunks.assign(
        p * v, {1, backward, backward / 2, backward / 2, send, send});
    problem.chunks.front().forward += below(1);
    double head = below(4);
    problem.chunks.back().forward += head;
    problem.chunks.back().backward += 2 * head;
    for (const char *policy : {"gpipe", "1f1b", "zero-bubble"})
      if (v == 1 || policy != std::string("zero-bubble")) {
        PipelineSchedule schedule = scheduled(problem, policy);
        EXPECT_EQ(schedule.saved.front(), problem.bound.front())
            << policy << " p=" << p << " m=" << m << " v=" << v;
      }
  }
}

TEST(PipelineProblemTest, WithRoomNeverSlowerThanForwardFirst) {
  std::mt19937 random(11);
  for (int i = 0; i < 500; ++i) {
    PipelineProblem problem = randomProblem(random);
    problem.splitsWeights = false;
    problem.bound.assign(problem.stages,
                         problem.parts * problem.chunksPerStage);
    double free = schedulePipeline(problem).seconds;
    problem.forwardFirst = true;
    PipelineSchedule gpipe = schedulePipeline(problem);
    ASSERT_EQ(verify(problem, gpipe), std::nullopt) << i;
    ASSERT_LE(free, gpipe.seconds * (1 + 1e-9)) << i;
  }
}

//===----------------------------------------------------------------------===//
// The check against wrong schedules
//===----------------------------------------------------------------------===//

struct PipelineVerifyTest : testing::Test {
  PipelineProblem problem = equalStages(3, 4, 1);
  PipelineSchedule schedule = scheduled(problem, "1f1b");

  PipelineCommand &find(Work work, int64_t chunk, int64_t part) {
    for (PipelineCommand &command : schedule.commands)
      if (command.work == work && command.chunk == chunk &&
          command.part == part)
        return command;
    ADD_FAILURE() << "no such command";
    return schedule.commands.front();
  }
  std::string wrong() { return verify(problem, schedule).value_or(""); }
};

TEST_F(PipelineVerifyTest, WhatBeginsTooEarly) {
  PipelineCommand &command = find(Work::Forward, 1, 0);
  command.start -= 0.5;
  command.end -= 0.5;
  EXPECT_EQ(wrong(), "forward of micro-batch 0 in chunk 1 begins before the "
                     "end of sending forward of micro-batch 0 in chunk 0");
}

TEST_F(PipelineVerifyTest, WhatIsMissingOrDoneTwice) {
  schedule.commands.push_back(find(Work::Backward, 2, 1));
  EXPECT_EQ(wrong(), "backward of micro-batch 1 in chunk 2 is done twice");
  schedule.commands.resize(schedule.commands.size() - 2);
  EXPECT_NE(wrong().find(" is missing"), std::string::npos) << wrong();
}

TEST_F(PipelineVerifyTest, WhatRunsAtTheSameTime) {
  PipelineCommand &command = find(Work::Backward, 0, 3);
  PipelineCommand &before = find(Work::Backward, 0, 2);
  before.start = command.start;
  before.end = command.end;
  EXPECT_NE(wrong().find(" runs at the same time as "), std::string::npos)
      << wrong();
}

TEST_F(PipelineVerifyTest, ATime) {
  find(Work::Forward, 0, 0).end += 0.25;
  EXPECT_EQ(wrong(), "forward of micro-batch 0 in chunk 0 takes 1.25 seconds, "
                     "not 1");
}

TEST_F(PipelineVerifyTest, ABound) {
  problem.bound[0] = 2;
  EXPECT_EQ(wrong(), "stage 0 saves 3 units, and may 2");
}

TEST_F(PipelineVerifyTest, ABackwardCommandAmongForwardOnes) {
  problem.forwardFirst = true;
  EXPECT_EQ(wrong(), "stage 0 begins a backward command before its last "
                     "forward one");
}

TEST(PipelineCheckTest, RefusesWhatIsNoProblem) {
  PipelineProblem problem = equalStages(2, 4, 2);
  apply(*findPolicy("1f1b"), 0, problem);
  problem.bound[1] = 1;
  EXPECT_EQ(problem.check(),
            "a stage may save 1 units, and one micro-batch has 2; allow as "
            "many");
  problem.bound[1] = 7;
  problem.forwardFirst = true;
  EXPECT_EQ(problem.check(),
            "a stage may save 4 units, and saves 8 before its first backward "
            "command; allow as many, or take another schedule");
  problem.chunks.pop_back();
  EXPECT_EQ(problem.check(), "3 chunks are described, not 2 x 2");
  problem.parts = 0;
  EXPECT_EQ(problem.check(), "2 stages, 2 chunks and 0 micro-batches: there is "
                             "at least one of each");
  EXPECT_EQ(findPolicy("2f2b"), nullptr);
}

} // namespace
