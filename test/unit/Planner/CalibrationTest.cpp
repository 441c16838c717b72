#include "tpsp/Planner/Calibration.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A run of a plan with these parts, measured by these factors.
static PredictedRun run(const char *plan, std::array<double, 3> parts,
                        std::array<double, 3> factors, double noise = 1) {
  PredictedRun result;
  result.run.plan = plan;
  result.parts.seconds = parts;
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

TEST(Calibration, RefusesRuns) {
  for (auto [text, why] :
       {std::pair("", "no run after the header"),
        std::pair("plan,seconds,bytes\n", "no run after the header"),
        std::pair("FSDP 8,1,2\n", "line 1: expected the header"),
        std::pair("plan,seconds,bytes\nFSDP 8,1\n",
                  "line 2: expected three cells, plan, seconds and bytes, not "
                  "2"),
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
  EXPECT_NEAR(parts.seconds[StepParts::Products], 7.2, 1e-9);
  EXPECT_NEAR(parts.seconds[StepParts::Kernels], 2.4, 1e-9);
  EXPECT_NEAR(parts.seconds[StepParts::Links], 1, 1e-9);
  EXPECT_NEAR(parts.rest, 0.4, 1e-9);
}

// With enough runs all factors are found, and the intervals are narrow.
TEST(Calibration, FindsFactors) {
  Calibration calibration(fiveRuns({1.2, 1.5, 2}));
  for (auto [i, expected] : llvm::enumerate(std::array{1.2, 1.5, 2.0})) {
    EXPECT_TRUE(calibration.factors()[i].isFreed);
    EXPECT_NEAR(calibration.factors()[i].value, expected, 0.05 * expected);
  }
  EXPECT_THAT(calibration.complaints(), IsEmpty());
  StepParts other;
  other.seconds = {5, 5, 2};
  Calibrated time = calibration.seconds(other);
  EXPECT_NEAR(time.value, 17.5, 0.5);
  EXPECT_LT(time.margin, 0.1 * time.value);
  EXPECT_LE(std::abs(time.value - 17.5), time.margin);
}

// At most one factor less than there are runs is freed; others stay 1.
TEST(Calibration, FreesNoMoreThanRunsTell) {
  std::vector<PredictedRun> all = fiveRuns({1.3, 1.3, 1.3});
  for (size_t count : {1, 2, 3}) {
    Calibration calibration({all.begin(), all.begin() + ptrdiff_t(count)});
    size_t freed = 0;
    for (const CalibrationFactor &factor :
         llvm::ArrayRef(calibration.factors()).take_front(3)) {
      freed += factor.isFreed;
      if (!factor.isFreed) {
        EXPECT_EQ(factor.value, 1);
        EXPECT_THAT(factor.reason, HasSubstr("cannot tell"));
      }
    }
    EXPECT_EQ(freed, count - 1);
  }
}

// A factor of a part that no run has stays 1, and predictions of plans that
// have it are uncertain.
TEST(Calibration, SaysWhatNoRunTells) {
  std::array<double, 3> factors = {1.2, 1.4, 1};
  Calibration calibration(
      {run("A", {6, 3, 0}, factors), run("B", {6, 5, 0}, factors),
       run("C", {2, 5, 0}, factors), run("D", {7, 1, 0}, factors)});
  EXPECT_FALSE(calibration.factors()[2].isFreed);
  EXPECT_THAT(calibration.text(),
              HasSubstr("links     stays 1: no run tells about it, 0.0 %"));
  StepParts without, with;
  without.seconds = {6, 4, 0};
  with.seconds = {6, 4, 4};
  EXPECT_GT(calibration.seconds(with).margin,
            3 * calibration.seconds(without).margin);
}

// Bytes have a factor of their own.
TEST(Calibration, Memory) {
  std::vector<PredictedRun> runs = fiveRuns({1, 1, 1});
  EXPECT_FALSE(Calibration(runs).factors()[3].isFreed);
  for (PredictedRun &each : runs) {
    each.bytes = 1000;
    each.run.bytes = 1150;
  }
  Calibration calibration(runs);
  EXPECT_NEAR(calibration.factors()[3].value, 1.15, 0.01);
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
  for (size_t i : {0, 1, 2})
    EXPECT_NEAR(calibration.factors()[i].value, 1.2, 0.1);
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
  EXPECT_GT(step.error.seconds, 0);
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
