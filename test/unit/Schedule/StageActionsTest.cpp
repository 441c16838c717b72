#include "tpsp/Schedule/StageActions.h"

#include <gmock/gmock.h>

#include <random>

using namespace tpsp;
using testing::HasSubstr;

namespace {

PipelineProblem problemOf(int64_t stages, int64_t chunksPerStage,
                          int64_t parts) {
  PipelineProblem problem;
  problem.stages = stages;
  problem.chunksPerStage = chunksPerStage;
  problem.parts = parts;
  std::mt19937 random(unsigned(100 * stages + 10 * chunksPerStage + parts));
  auto seconds = [&] { return 1 + double(random() % 8) / 8; };
  for (int64_t chunk = 0; chunk < stages * chunksPerStage; ++chunk) {
    PipelineProblem::Chunk &own = problem.chunks.emplace_back();
    own.forward = seconds();
    own.input = seconds();
    own.weights = seconds();
    own.backward = own.input + own.weights;
    own.sendForward = 0.25 * seconds();
    own.sendBackward = 0.25 * seconds();
  }
  problem.bound.assign(size_t(stages), parts * chunksPerStage);
  return problem;
}

/// The schedule of a file, or the sentence that refuses it.
std::string refusalOf(const PipelineProblem &problem, const std::string &text,
                      PipelineSchedule *out = nullptr) {
  llvm::Expected<StageActions> actions = parseStageActions(text, "F.csv");
  if (!actions)
    return llvm::toString(actions.takeError());
  llvm::Expected<PipelineSchedule> schedule =
      scheduleActions(problem, *actions);
  if (!schedule)
    return llvm::toString(schedule.takeError());
  if (out)
    *out = *schedule;
  return "";
}

} // namespace

// A policy's order is written and read, and takes as long with as many units.
TEST(StageActions, PoliciesAreReadBack) {
  for (const PipelinePolicy &policy : pipelinePolicies())
    for (int64_t stages : {1, 2, 3, 4})
      for (int64_t chunks : {1, 2, 3})
        for (int64_t parts : {1, 2, 5, 8}) {
          PipelineProblem problem = problemOf(stages, chunks, parts);
          apply(policy, 0, problem);
          PipelineSchedule ours = schedulePipeline(problem), read;
          EXPECT_EQ(refusalOf(problem, toCsv(problem, ours), &read), "");
          EXPECT_LE(read.seconds, ours.seconds * (1 + 1e-12))
              << policy.name << stages << chunks << parts;
          EXPECT_EQ(read.commands.size(), ours.commands.size());
          EXPECT_EQ(read.saved, ours.saved);
        }
}

TEST(StageActions, TwoStagesTakeWhatAPersonComputes) {
  PipelineProblem problem = problemOf(2, 1, 2);
  for (PipelineProblem::Chunk &chunk : problem.chunks)
    chunk = {1, 2, 1, 1, 0.5, 0.25};
  PipelineSchedule schedule;
  ASSERT_EQ(
      refusalOf(problem, "0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1\n", &schedule),
      "");
  // 1F0 at 1.5, 1B0 to 4.5, 1F1 to 5.5, 1B1 to 7.5, sent by 7.75, 0B1 to 9.75.
  EXPECT_DOUBLE_EQ(schedule.seconds, 9.75);
  EXPECT_EQ(schedule.saved, (std::vector<int64_t>{2, 1}));
}

TEST(StageActions, APairThatRunsTogetherRunsInTurn) {
  PipelineProblem problem = problemOf(1, 1, 2);
  PipelineSchedule apart, together;
  ASSERT_EQ(refusalOf(problem, "0F0,0F1,0B0,0B1", &apart), "");
  ASSERT_EQ(refusalOf(problem, "0F0,(0F1;0B0)OVERLAP_F_B,0B1", &together), "");
  EXPECT_EQ(apart.seconds, together.seconds);
}

TEST(StageActions, GathersAreCounted) {
  auto actions =
      parseStageActions("0UNSHARD,0F0,0RESHARD,0UNSHARD,0B0,0REDUCE_GRAD\n"
                        "1UNSHARD,1F0,1B0,1RESHARD\n",
                        "F.csv");
  ASSERT_TRUE(bool(actions)) << llvm::toString(actions.takeError());
  EXPECT_EQ(actions->gathers, 3);
  EXPECT_EQ(actions->mostGathers, 2);
  EXPECT_EQ(actions->leftOut, 1);
}

TEST(StageActions, WhatIsNoActionIsRefused) {
  for (const char *cell :
       {"x", "0X1", "F0", "0F", "0F0x", "-1F0", "0F-1",
        "0F99999999999999999999", "9223372036854775807RECV_B0",
        "0F9223372036854775807", "(0F0;1B0)", "(0F0", "0", "0SEND_X1"})
    EXPECT_THAT(
        refusalOf(problemOf(1, 1, 1), std::string("0F0,") + cell + "\n"),
        testing::StartsWith("F.csv: row 1, cell 2: '"))
        << cell;
  EXPECT_THAT(refusalOf(problemOf(1, 1, 1), "\n\n"), HasSubstr("is empty"));
}

TEST(StageActions, WhatDoesNotFitTheProgramIsRefused) {
  PipelineProblem problem = problemOf(2, 1, 2);
  auto refusal = [&](const char *text) { return refusalOf(problem, text); };
  const std::string second = "\n1F0,1B0,1F1,1B1";
  EXPECT_THAT(refusal("0F0,0B0"), HasSubstr("has 1 rows, and there are 2"));
  EXPECT_THAT(refusal("2F0\n1F0"), HasSubstr("row 1, cell 1, 2F0: there are 2 "
                                             "chunks, 0 to 1"));
  EXPECT_THAT(refusal("0F0,0F2\n1F0"), HasSubstr("give --micro-batches 3"));
  EXPECT_THAT(refusal("1F0\n0F0"), HasSubstr("chunk 1 is on stage 1"));
  EXPECT_THAT(refusalOf(problem, "0F0,0F1,0F0,0B0,0B1" + second),
              HasSubstr("row 1, cell 3, 0F0 comes twice"));
  EXPECT_THAT(refusalOf(problem, "0F0,0F1,0B0" + second),
              HasSubstr("row 1 lacks 0B1: the gradients of micro-batch 1 would "
                        "be lost"));
  EXPECT_THAT(refusalOf(problem, "0F0,0F1,0SEND_F0,0SEND_F1,0B0,0B1" + second),
              HasSubstr("row 2 lacks 1RECV_F0"));
  problem.splitsWeights = true;
  EXPECT_THAT(refusalOf(problem, "0F0,0F1,0I0,0I1,0W0\n1F0,1B0,1F1,1B1"),
              HasSubstr("row 1 lacks 0W1: the gradients of micro-batch 1"));
}

TEST(StageActions, ActionsThatWaitForEachOtherAreBlamed) {
  PipelineProblem problem = problemOf(2, 1, 2);
  std::string text = refusalOf(problem, "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0");
  EXPECT_THAT(text, HasSubstr("wait for each other"));
  EXPECT_THAT(text, HasSubstr("row 1, cell 2, 0B0 waits for 1SEND_B0"));
  EXPECT_THAT(text, HasSubstr("row 2, cell 1, 1F1 waits for 0SEND_F1"));
  // Sends and receives in different orders.
  EXPECT_THAT(refusalOf(problem,
                        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                        "1RECV_F1,1RECV_F0,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1"),
              HasSubstr("0SEND_F0 waits for 1RECV_F0"));
}

// A transfer begins after the actions before it in its row.
TEST(StageActions, TransfersHaveTheirTurn) {
  PipelineProblem problem = problemOf(2, 1, 2);
  for (PipelineProblem::Chunk &chunk : problem.chunks)
    chunk = {1, 2, 1, 1, 0.5, 0.25};
  PipelineSchedule schedule;
  ASSERT_EQ(refusalOf(problem,
                      "0F0,0F1,0SEND_F0,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1",
                      &schedule),
            "");
  // 0SEND_F0 begins at 2 and not at 1, so 1B0 ends at 5.5. Then 1RECV_F1 has
  // its turn. 1B1 ends at 9, and is sent by 9.25. 0B1 ends at 11.25.
  EXPECT_DOUBLE_EQ(schedule.seconds, 11.25);
  EXPECT_THAT(refusalOf(problem,
                        "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                        "1F0,1RECV_F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1"),
              HasSubstr("row 2, cell 1, 1F0 waits for 0SEND_F0"));
}

TEST(StageActions, ABoundIsKept) {
  PipelineProblem problem = problemOf(2, 1, 2);
  problem.bound = {1, 1};
  EXPECT_THAT(refusalOf(problem, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1"),
              HasSubstr("row 1, cell 2, 0F1 would save 2 units on stage 0, "
                        "whose bound is 1"));
}

// Each action left out, and each two exchanged, is refused, or takes a time.
TEST(StageActions, MutationsEndInATimeOrASentence) {
  PipelineProblem problem = problemOf(3, 2, 3);
  problem.splitsWeights = true;
  apply(*findPolicy("zero-bubble"), 0, problem);
  PipelineSchedule schedule = schedulePipeline(problem);
  llvm::Expected<StageActions> actions =
      parseStageActions(toCsv(problem, schedule), "F.csv");
  ASSERT_TRUE(bool(actions));
  problem.bound.assign(3, 6);
  int refused = 0, accepted = 0;
  auto count = [&](const StageActions &changed) {
    llvm::Expected<PipelineSchedule> result = scheduleActions(problem, changed);
    ++(result ? accepted : refused);
    if (!result)
      EXPECT_THAT(llvm::toString(result.takeError()), HasSubstr("row"));
    return;
  };
  for (size_t stage = 0; stage < 3; ++stage)
    for (size_t i = 0; i < actions->stages[stage].size(); ++i) {
      StageActions left = *actions, exchanged = *actions;
      left.stages[stage].erase(left.stages[stage].begin() + ptrdiff_t(i));
      int before = refused;
      count(left);
      EXPECT_EQ(refused, before + 1); // a gradient is lost
      if (i == 0)
        continue;
      std::swap(exchanged.stages[stage][i - 1], exchanged.stages[stage][i]);
      count(exchanged);
    }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, accepted);
}

TEST(StageActions, WhetherTheLastMicroBatchEndsLast) {
  auto ends = [](const std::string &text) {
    llvm::Expected<StageActions> actions = parseStageActions(text, "F.csv");
    EXPECT_TRUE(bool(actions));
    StageSchedule schedule(*findPolicy("1f1b"));
    schedule.actions = std::move(*actions);
    return schedule.endsWithLast();
  };
  EXPECT_TRUE(StageSchedule(*findPolicy("1f1b")).endsWithLast());
  EXPECT_TRUE(ends("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"));
  EXPECT_FALSE(ends("0F0,0F1,0B1,0B0\n1F0,1F1,1B1,1B0\n"));
  EXPECT_TRUE(ends("0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1W0,1I1,1W1\n"));
  EXPECT_FALSE(ends("0F0,0F1,0I0,0I1,0W0,0W1\n1F0,1I0,1F1,1I1,1W1,1W0\n"));
}
