#include "tpsp/Planner/Calibration.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The parts of a step without attention: products, kernels and links.
static StepParts partsWith(std::array<double, 3> seconds) {
  StepParts parts;
  parts.seconds = {seconds[0], 0, seconds[1], seconds[2]};
  return parts;
}

/// A run of a plan with these parts, measured by these factors.
static PredictedRun run(const char *plan, std::array<double, 3> parts,
                        std::array<double, 3> factors, double noise = 1) {
  PredictedRun result;
  result.run.plan = plan;
  result.parts = partsWith(parts);
  for (size_t i = 0; i < 3; ++i)
    result.run.seconds += noise * factors[i] * parts[i];
  return result;
}

static std::vector<PredictedRun> fiveRuns(std::array<double, 3> factors) {
  return {run("A", {6, 3, 1}, factors), run("B", {6, 3, 4}, factors),
          run("C", {6, 6, 1}, factors), run("D", {9, 3, 2}, factors),
          run("E", {3, 2, 5}, factors)};
}

TEST(Calibration, ReadsRuns) {
  auto runs = parseRuns("plan,seconds,bytes\n\"TP 4, dp=2\", 1.5, 2e9\n"
                        "FSDP 8,0.25,\n");
  ASSERT_TRUE(bool(runs));
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].plan, "TP 4, dp=2");
  EXPECT_EQ((*runs)[0].seconds, 1.5);
  EXPECT_EQ((*runs)[0].bytes, 2000000000);
  EXPECT_EQ((*runs)[1].bytes, 0);
}

// As spreadsheets write it: a byte order mark, carriage returns, quotes twice.
TEST(Calibration, ReadsRunsOfSpreadsheets) {
  auto runs = parseRuns("\xef\xbb\xbfplan,seconds,bytes\r\n"
                        "\"a \"\"b\"\", c\",1,2\r\n");
  ASSERT_TRUE(bool(runs)) << llvm::toString(runs.takeError());
  EXPECT_EQ(runs->front().plan, "a \"b\", c");
  EXPECT_EQ(runs->front().bytes, 2);
}

// Columns may have any order; rows may be of other steps.
TEST(Calibration, ReadsOtherSteps) {
  auto runs = parseRuns("model,bytes,plan,devices,seconds,micro_batches\n"
                        "a/gpt.mlir,,FSDP 8,8,2.5,4\n"
                        ",,FSDP 8,,2.5,\n");
  ASSERT_TRUE(bool(runs));
  ASSERT_EQ(runs->size(), 2u);
  EXPECT_EQ((*runs)[0].model, "a/gpt.mlir");
  EXPECT_EQ((*runs)[0].devices, 8);
  EXPECT_EQ((*runs)[0].microBatches, 4);
  EXPECT_EQ((*runs)[0].seconds, 2.5);
  EXPECT_EQ((*runs)[0].step(), "gpt.mlir, 8 devices");
  EXPECT_TRUE((*runs)[0].isOfOtherStep());
  EXPECT_FALSE((*runs)[1].isOfOtherStep());
  PredictedRun predicted{(*runs)[0]};
  predicted.settings = "4 micro-batches";
  EXPECT_EQ(predicted.name(), "FSDP 8 (gpt.mlir, 8 devices, 4 micro-batches)");
  EXPECT_EQ(PredictedRun{(*runs)[1]}.name(), "FSDP 8");
}

TEST(Calibration, RefusesRuns) {
  for (auto [text, why] :
       {std::pair("", "no run after the header"),
        std::pair("plan,seconds,bytes\n", "no run after the header"),
        std::pair("FSDP 8,1,2\n", "line 1: expected the header"),
        std::pair("plan,seconds\nFSDP 8,1\n",
                  "line 1: the header has no column bytes"),
        std::pair("plan,seconds,bytes\n\"FSDP 8,1,\n",
                  "line 2: a quote is not closed"),
        std::pair("plan,seconds,bytes,plan\n", "column plan is there twice"),
        std::pair("plan,seconds,bytes,devices\nFSDP 8,1,2,0\n",
                  "line 2: devices: expected a whole number from 1 to 1048576"),
        std::pair("plan,seconds,bytes,devices\nFSDP 8,1,2,2.5\n", "not '2.5'"),
        std::pair("plan,seconds,bytes,rematerialize\nFSDP 8,1,2,some\n",
                  "expected none, selective, full or full:LAYERS, or nothing, "
                  "not 'some'"),
        std::pair("plan,seconds,bytes\nFSDP 8,1\n",
                  "line 2: expected 3 cells, as in the header, not 2"),
        std::pair("plan,seconds,bytes\nFSDP 8,-1,\n",
                  "line 2: seconds: expected a number from 1e-9 to 1e18, or "
                  "nothing, not '-1'"),
        std::pair("plan,seconds,bytes\nFSDP 8,1e-300,\n",
                  "seconds: expected a number from 1e-9 to 1e18"),
        std::pair("plan,seconds,bytes\nFSDP 8,1e300,\n",
                  "seconds: expected a number from 1e-9 to 1e18"),
        std::pair("plan,seconds,bytes\nFSDP 8,1,0.5\n",
                  "bytes: expected a number from 1 to 1e18, or nothing, not "
                  "'0.5'"),
        std::pair("plan,seconds,bytes\nFSDP 8,1,nan\n", "bytes: expected"),
        std::pair("plan,seconds,bytes\n,1,\n", "line 2: the plan is empty")}) {
    auto runs = parseRuns(text);
    ASSERT_FALSE(bool(runs)) << text;
    EXPECT_THAT(llvm::toString(runs.takeError()), HasSubstr(why));
  }
}

// Parts of an evaluation. A bubble is other stages' computation.
TEST(Calibration, Parts) {
  Evaluation step;
  step.seconds = 11;
  step.parts = {{"products", 4},
                {"attention", 2},
                {"kernels", 1},
                {"copies", 1},
                {"all_gather over fsdp", 1},
                {"bubble", 1.6}};
  StepParts parts = partsOf(step);
  EXPECT_NEAR(parts.seconds[StepParts::Products], 4.8, 1e-9);
  EXPECT_NEAR(parts.seconds[StepParts::Attention], 2.4, 1e-9);
  EXPECT_NEAR(parts.seconds[StepParts::Kernels], 2.4, 1e-9);
  EXPECT_NEAR(parts.seconds[StepParts::Links], 1, 1e-9);
  EXPECT_NEAR(parts.rest, 0.4, 1e-9);
}

// With enough runs all factors are found, and the intervals are narrow.
TEST(Calibration, FindsFactors) {
  Calibration calibration(fiveRuns({1.2, 1.5, 2}));
  for (auto [part, expected] :
       {std::pair(StepParts::Products, 1.2), std::pair(StepParts::Kernels, 1.5),
        std::pair(StepParts::Links, 2.0)}) {
    EXPECT_TRUE(calibration.factors()[part].isFreed);
    EXPECT_NEAR(calibration.factors()[part].value, expected, 0.05 * expected);
  }
  EXPECT_FALSE(calibration.factors()[StepParts::Attention].isFreed);
  EXPECT_THAT(calibration.complaints(), IsEmpty());
  StepParts other = partsWith({5, 5, 2});
  Calibrated time = calibration.seconds(other);
  EXPECT_NEAR(time.value, 17.5, 0.5);
  EXPECT_LT(time.margin, 0.2 * time.value);
  EXPECT_LE(std::abs(time.value - 17.5), time.margin);
}

// At most one factor less than there are runs is freed; others stay 1.
TEST(Calibration, FreesNoMoreThanRunsTell) {
  std::vector<PredictedRun> all = fiveRuns({1.3, 1.3, 1.3});
  for (size_t count : {1, 2, 3}) {
    Calibration calibration({all.begin(), all.begin() + ptrdiff_t(count)});
    size_t freed = 0;
    for (const CalibrationFactor &factor :
         llvm::ArrayRef(calibration.factors()).take_front(StepParts::count)) {
      freed += factor.isFreed;
      if (!factor.isFreed) {
        EXPECT_EQ(factor.value, 1);
        EXPECT_THAT(factor.reason,
                    HasSubstr(factor.name == std::string("attention")
                                  ? "no run tells about it"
                                  : "cannot tell"));
      }
    }
    EXPECT_EQ(freed, count - 1);
  }
}

// Those factors are freed that explain the runs best: here attention, although
// it is a small part.
TEST(Calibration, FreesWhatExplainsTheRuns) {
  auto runOf = [](double products, double attention, double kernels) {
    PredictedRun result;
    result.run.plan = "P";
    result.parts.seconds = {products, attention, kernels, 0.5};
    result.run.seconds = 1.1 * products + 3 * attention + kernels + 0.5;
    return result;
  };
  Calibration calibration({runOf(6, 0.3, 3), runOf(9, 2, 2), runOf(4, 0.2, 5)});
  const auto &factors = calibration.factors();
  EXPECT_TRUE(factors[StepParts::Products].isFreed);
  EXPECT_FALSE(factors[StepParts::Kernels].isFreed);
  EXPECT_NEAR(factors[StepParts::Products].value, 1.1, 0.05);
  EXPECT_NEAR(factors[StepParts::Attention].value, 3, 0.45);
}

// A factor of a part that no run has stays 1, and predictions of plans that
// have it are uncertain.
TEST(Calibration, SaysWhatNoRunTells) {
  std::array<double, 3> factors = {1.2, 1.4, 1};
  Calibration calibration(
      {run("A", {6, 3, 0}, factors), run("B", {6, 5, 0}, factors),
       run("C", {2, 5, 0}, factors), run("D", {7, 1, 0}, factors)});
  EXPECT_FALSE(calibration.factors()[StepParts::Links].isFreed);
  EXPECT_THAT(calibration.text(),
              HasSubstr("links      stays 1: no run tells about it, 0.0 %"));
  StepParts without = partsWith({6, 4, 0}), with = partsWith({6, 4, 4});
  EXPECT_GT(calibration.seconds(with).margin,
            3 * calibration.seconds(without).margin);
}

// Bytes have a factor of their own.
TEST(Calibration, Memory) {
  std::vector<PredictedRun> runs = fiveRuns({1, 1, 1});
  EXPECT_FALSE(Calibration(runs).factors()[StepParts::count].isFreed);
  for (PredictedRun &each : runs) {
    each.bytes = 1000;
    each.run.bytes = 1150;
  }
  Calibration calibration(runs);
  EXPECT_NEAR(calibration.factors()[StepParts::count].value, 1.15, 0.01);
  EXPECT_NEAR(calibration.bytes(2000).value, 2300, 30);
}

// The run that contradicts the others is named, and no good one.
TEST(Calibration, Contradictions) {
  std::vector<PredictedRun> runs = fiveRuns({1.2, 1.2, 1.2});
  EXPECT_LT(Calibration(runs).crossValidated(), 0.03);
  runs[3].run.seconds *= 2;
  Calibration calibration(runs);
  EXPECT_LT(calibration.crossValidated(), 0.06);
  EXPECT_THAT(
      calibration.complaints(),
      ElementsAre(AllOf(HasSubstr("the run of D contradicts the others"),
                        HasSubstr("its time is left out"))));
  for (auto part : {StepParts::Products, StepParts::Kernels, StepParts::Links})
    EXPECT_NEAR(calibration.factors()[part].value, 1.2, 0.1);
  // Without A the others are right. Without C, A makes C seem 69 % too long.
  runs = fiveRuns({1.2, 1.2, 1.2});
  runs[0].run.seconds *= 2;
  EXPECT_THAT(Calibration(runs).complaints(),
              ElementsAre(HasSubstr("the run of A contradicts the others")));
}

// Intervals of noisy runs have most of the measured steps.
TEST(Calibration, IntervalsCover) {
  int covered = 0, all = 0;
  for (int seed = 0; seed < 40; ++seed) {
    auto noise = [state = unsigned(seed * 7919 + 1)]() mutable {
      state = state * 1664525u + 1013904223u;
      return 1 + 0.06 * (double(state >> 8) / double(1 << 24) - 0.5);
    };
    std::array<double, 3> factors = {1.1 + 0.01 * seed, 1.4, 1.8};
    std::vector<PredictedRun> runs;
    for (std::array<double, 3> parts :
         {std::array{6.0, 3.0, 1.0}, std::array{6.0, 3.0, 4.0},
          std::array{6.0, 6.0, 1.0}, std::array{3.0, 2.0, 5.0}})
      runs.push_back(run("R", parts, factors, noise()));
    Calibration calibration(runs);
    PredictedRun other = run("O", {8, 4, 3}, factors, noise());
    Calibrated time = calibration.seconds(other.parts);
    covered += std::abs(time.value - other.run.seconds) <= time.margin;
    ++all;
  }
  EXPECT_GE(covered, all * 8 / 10);
}

// The evaluation's seconds, parts, error and bytes follow the factors.
TEST(Calibration, OfAnEvaluation) {
  Calibration calibration(fiveRuns({1.2, 1.5, 2}));
  Evaluation step;
  step.seconds = 10;
  step.parts = {{"products", 6}, {"kernels", 3}, {"all_reduce over tp", 1}};
  step.memory.total = 100;
  calibrate(calibration, step);
  EXPECT_NEAR(step.seconds, 13.7, 0.4);
  EXPECT_NEAR(step.parts["all_reduce over tp"], 2, 0.1);
  EXPECT_GT(step.error.lessTime, 0);
  EXPECT_LT(step.leastWhole(), step.seconds);
  EXPECT_EQ(step.memory.total, 100);
}

// All bytes have one factor, so that the total has room for what is profiled.
TEST(Calibration, OfProfiledBytes) {
  std::vector<PredictedRun> runs = fiveRuns({1, 1, 1});
  for (PredictedRun &each : runs) {
    each.bytes = 1000;
    each.run.bytes = 800;
  }
  Evaluation step;
  step.seconds = 10;
  step.parts = {{"products", 10}};
  step.memory.total = step.memory.profiled = 10000;
  step.memory.profiledReserved = 12000;
  calibrate(Calibration(runs), step);
  EXPECT_NEAR(double(step.memory.total), 8000, 150);
  EXPECT_EQ(step.memory.profiled, step.memory.total);
  EXPECT_NEAR(double(step.memory.profiledReserved), 9600, 180);
}
