// A whole step from its chunks' work: bubbles, memory, tied parameters, and
// work that is done once a step.
#include "tpsp/Schedule/PipelineStep.h"

#include "gtest/gtest.h"

using namespace tpsp;

namespace {

CostModel costOf(int64_t stages) {
  return {*findHardware("h100-sxm"), Mesh({{"pp", stages}})};
}

/// Returns a chunk with one parameter, whose number in the program is `own`.
PipelineChunk chunkWith(int64_t own) {
  PipelineChunk chunk;
  ChunkWork &work = chunk.work;
  work.forward = 1;
  work.input = work.weights = 1;
  work.backward = 2;
  work.parameters[0] = 100;
  work.gradients[0] = 200;
  work.state[0] = 800;
  work.saved = 10;
  work.heldForWeights = 4;
  work.peakForward = 15;
  work.peakBackward = 20;
  work.peakInput = 18;
  work.peakWeights = 9;
  chunk.arguments = {own};
  return chunk;
}

PipelineRequest requestOf(int64_t chunks, int64_t parts) {
  PipelineRequest request;
  for (int64_t i = 0; i < chunks; ++i)
    request.chunks.push_back(chunkWith(i));
  request.parts = parts;
  request.hasBackward = true;
  return request;
}

PipelineStep simulated(const PipelineRequest &request, int64_t stages,
                       const char *policy) {
  auto step = simulatePipeline(request, *findPolicy(policy), costOf(stages));
  EXPECT_TRUE(bool(step)) << llvm::toString(step.takeError());
  return std::move(*step);
}

TEST(PipelineStepTest, BubbleAndMemoryOfEqualStages) {
  PipelineRequest request = requestOf(4, 16);
  PipelineStep few = simulated(request, 4, "1f1b");
  PipelineStep all = simulated(request, 4, "gpipe");
  EXPECT_NEAR(few.bubble, 3.0 / 19, 1e-9);
  EXPECT_NEAR(all.bubble, 3.0 / 19, 1e-9);
  for (int64_t stage = 0; stage < 4; ++stage) {
    const StageUse &use = few.stages[stage];
    EXPECT_NEAR(use.computing, 48, 1e-9);
    EXPECT_EQ(use.units, 4 - stage);
    EXPECT_EQ(use.saved, 10 * (4 - stage));
    // The last unit is part of the backward command's own bytes.
    EXPECT_EQ(use.peak, 1100 + 10 * (3 - stage) + 20);
    EXPECT_EQ(all.stages[stage].saved, 160);
    EXPECT_EQ(all.stages[stage].peak, 1100 + 150 + 20);
  }
}

TEST(PipelineStepTest, WeightGradientsHoldLess) {
  PipelineStep step = simulated(requestOf(4, 16), 4, "zero-bubble");
  EXPECT_LT(step.seconds, simulated(requestOf(4, 16), 4, "1f1b").seconds - 1);
  for (const StageUse &use : step.stages) {
    EXPECT_LE(use.units, 4);
    EXPECT_LE(use.saved, 40);
  }
  // Weights' gradients wait, so that not all units hold all of their saved
  // bytes.
  EXPECT_LT(step.stages[3].saved, 10 * step.stages[3].units);
}

TEST(PipelineStepTest, OneStageHasNoBubbleAndSendsNothing) {
  PipelineStep step = simulated(requestOf(1, 5), 1, "1f1b");
  EXPECT_NEAR(step.seconds, 15, 1e-3);
  EXPECT_EQ(step.bubble, 0);
  EXPECT_TRUE(step.tied.empty());
}

TEST(PipelineStepTest, ATiedParameterIsReducedOverItsStages) {
  PipelineRequest request = requestOf(4, 8);
  double without = simulated(request, 4, "1f1b").seconds;
  request.chunks[3].arguments = {0};
  for (PipelineChunk &chunk : request.chunks)
    chunk.work.gradients[0] = 1 << 30;
  PipelineStep step = simulated(request, 4, "1f1b");
  ASSERT_EQ(step.tied.size(), 1u);
  EXPECT_EQ(step.tied[0].argument, 0);
  EXPECT_EQ(step.tied[0].stages, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(step.tied[0].bytes, 1 << 30);
  // Each of two ranks sends half, twice.
  EXPECT_EQ(step.tied[0].bytesSent, 1 << 30);
  EXPECT_GT(step.tied[0].seconds, (1 << 30) / 450e9);
  EXPECT_NEAR(step.seconds, without + step.tied[0].seconds, 1e-6);
}

TEST(PipelineStepTest, TwoChunksOfAStageShareAParameter) {
  PipelineRequest request = requestOf(4, 8);
  request.chunks[2].arguments = {0};
  PipelineStep step = simulated(request, 2, "1f1b");
  EXPECT_TRUE(step.tied.empty());
  EXPECT_EQ(step.stages[0].parameters, 100);
  EXPECT_EQ(step.stages[0].state, 800);
  EXPECT_EQ(step.stages[1].parameters, 200);
}

TEST(PipelineStepTest, SendsThatTakeLongAreWaitedFor) {
  PipelineRequest request = requestOf(2, 1);
  for (PipelineChunk &chunk : request.chunks)
    chunk.work.sentForward = chunk.work.sentBackward = int64_t(1) << 36;
  PipelineStep step = simulated(request, 2, "1f1b");
  double send = step.problem.chunks[0].sendForward;
  EXPECT_GT(send, 0.05);
  EXPECT_NEAR(step.stages[1].waitingForSends, send, 1e-9);
  EXPECT_NEAR(step.stages[0].waitingForSends, send, 1e-9);
  EXPECT_NEAR(step.schedule.seconds, 6 + 2 * send, 1e-9);
}

TEST(PipelineStepTest, TheUpdateComesBehindAndANormBeforeAnyUpdate) {
  PipelineRequest request = requestOf(4, 4);
  request.chunks[0].work.update = 0.5;
  request.chunks[3].work.update = 5;
  double apart = simulated(request, 4, "1f1b").seconds;
  request.clips = true;
  PipelineStep step = simulated(request, 4, "1f1b");
  // Stage 3 ends first and then waits for all others.
  EXPECT_GT(step.seconds, apart + 1);
  EXPECT_GE(step.stages[3].ended, step.schedule.seconds + 5);
}

TEST(PipelineStepTest, ReductionsComeBeforeANorm) {
  PipelineRequest request = requestOf(4, 4);
  request.clips = true;
  double without = simulated(request, 4, "1f1b").seconds;
  // Stage 3 has three backward passes' time until stage 0 ends.
  request.chunks[3].work.update = request.chunks[3].work.reductions = 5.5;
  EXPECT_NEAR(simulated(request, 4, "1f1b").seconds, without, 1e-6);
  request.chunks[0].work.update = request.chunks[0].work.reductions = 1.5;
  EXPECT_NEAR(simulated(request, 4, "1f1b").seconds, without + 1.5, 1e-6);
  request.chunks[3].work.update = 6;
  EXPECT_NEAR(simulated(request, 4, "1f1b").seconds, without + 2, 1e-6);
}

TEST(PipelineStepTest, ReductionsHideUnderTheLastBackwardPass) {
  PipelineRequest request = requestOf(4, 4);
  double without = simulated(request, 2, "1f1b").seconds;
  for (PipelineChunk &chunk : request.chunks)
    chunk.work.update = chunk.work.reductions = 0.9;
  // Two chunks' reductions, under two seconds of the first chunk.
  request.hidesReductions = true;
  EXPECT_NEAR(simulated(request, 2, "1f1b").seconds, without, 1e-6);
  for (PipelineChunk &chunk : request.chunks)
    chunk.work.update = chunk.work.reductions = 1.2;
  EXPECT_NEAR(simulated(request, 2, "1f1b").seconds, without + 0.4, 1e-6);
  // Each chunk's, under one second of weights' gradients.
  double split = simulated(request, 2, "zero-bubble").seconds;
  request.hidesReductions = false;
  EXPECT_GT(simulated(request, 2, "zero-bubble").seconds, split + 1);
}

TEST(PipelineStepTest, ABoundBelowAMicroBatchIsRefused) {
  PipelineRequest request = requestOf(4, 8);
  request.units = 1;
  auto step = simulatePipeline(request, *findPolicy("1f1b"), costOf(2));
  ASSERT_FALSE(bool(step));
  EXPECT_EQ(llvm::toString(step.takeError()),
            "a stage may save 1 units, and one micro-batch has 2; allow as "
            "many");
}

} // namespace
