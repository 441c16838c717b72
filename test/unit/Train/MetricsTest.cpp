#include "Runtime/Train/Metrics.h"

#include "TestFiles.h"

#include <gmock/gmock.h>

using namespace tpsp::rt;
using namespace tpsp::train;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

StepRecord record(int64_t step, double loss) {
  StepRecord record;
  record.step = step;
  record.loss = loss;
  record.learningRate = 1e-3;
  return record;
}

class MetricsTest : public TestFiles {};

} // namespace

TEST_F(MetricsTest, ARecordIsReadAsItWasWritten) {
  StepRecord wanted = record(3, 0.1);
  wanted.norm = 1.0 / 3;
  wanted.tokens = int64_t(1) << 40;
  wanted.evalLoss = 2.5;
  ASSERT_TRUE(appendMetrics(path("m"), wanted).ok());
  StepRecord found = readMetrics(path("m"), 3).at(0);
  EXPECT_EQ(found.loss, wanted.loss);
  EXPECT_EQ(found.norm, wanted.norm);
  EXPECT_EQ(found.tokens, wanted.tokens);
  EXPECT_EQ(found.evalLoss, wanted.evalLoss);
  EXPECT_FALSE(found.utilisation);
}

// A run that resumes from step 2 drops the lines of later steps. A line that
// was cut off when the run was killed does not count.
TEST_F(MetricsTest, WhatIsGoneOnFromIsKept) {
  ASSERT_TRUE(
      writeMetrics(path("m"), {record(1, 5), record(2, 4), record(3, 3)}).ok());
  write("m", read("m") + "{\"step\":4,\"lo");
  EXPECT_EQ(readMetrics(path("m"), 2).size(), 2u);
  EXPECT_EQ(readMetrics(path("m"), 9).size(), 3u);
  EXPECT_TRUE(readMetrics(path("none"), 9).empty());
}

// A step that was done again replaces its line.
TEST_F(MetricsTest, AStepHasOneLine) {
  for (int64_t step : {1, 2, 3, 2, 3, 4})
    ASSERT_TRUE(appendMetrics(path("m"), record(step, 10 - step)).ok());
  std::vector<int64_t> steps;
  for (const StepRecord &each : readMetrics(path("m"), 9))
    steps.push_back(each.step);
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4));
}

TEST_F(MetricsTest, CurvesShowWhatThereIs) {
  std::vector<StepRecord> records = {record(1, 5), record(2, 4)};
  EXPECT_THAT(curvesSvg(records), Not(HasSubstr("evaluation")));
  EXPECT_THAT(curvesSvg(records), Not(HasSubstr("norm")));
  records[1].evalLoss = 4.5;
  records[0].norm = records[1].norm = 2;
  EXPECT_THAT(curvesSvg(records), HasSubstr("evaluation"));
  EXPECT_THAT(curvesSvg(records), HasSubstr("norm of the gradient"));
  for (const auto &few : {std::vector<StepRecord>{}, {record(7, 3)}}) {
    std::string svg = curvesSvg(few);
    EXPECT_THAT(svg, HasSubstr("</svg>"));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("inf")));
  }
}
