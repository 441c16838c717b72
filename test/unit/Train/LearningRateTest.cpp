#include "tpsp/Runtime/Train/LearningRate.h"

#include <gtest/gtest.h>

using namespace tpsp::train;

static LearningRate rate(const char *schedule) {
  LearningRate rate;
  rate.schedule = schedule;
  rate.peak = 1;
  rate.low = 0.1;
  rate.warmup = 10;
  rate.steps = 110;
  return rate;
}

TEST(LearningRateTest, RisesInProportion) {
  for (const std::string &schedule : learningRateSchedules()) {
    LearningRate each = rate(schedule.c_str());
    EXPECT_DOUBLE_EQ(each.at(1), 0.1);
    EXPECT_DOUBLE_EQ(each.at(5), 0.5);
    EXPECT_DOUBLE_EQ(each.at(10), 1);
  }
}

TEST(LearningRateTest, FallsAsItsScheduleSays) {
  EXPECT_DOUBLE_EQ(rate("constant").at(110), 1);
  EXPECT_DOUBLE_EQ(rate("warmup-linear").at(60), 0.55);
  EXPECT_DOUBLE_EQ(rate("warmup-cosine").at(60), 0.55);
  EXPECT_NEAR(rate("warmup-cosine").at(35), 0.1 + 0.9 * 0.8535533905932737,
              1e-12);
  EXPECT_DOUBLE_EQ(rate("warmup-stable-decay").at(89), 1);
  EXPECT_NEAR(rate("warmup-stable-decay").at(100), 0.55, 1e-12);
  for (const char *name :
       {"warmup-linear", "warmup-cosine", "warmup-stable-decay"}) {
    EXPECT_NEAR(rate(name).at(110), 0.1, 1e-12);
    EXPECT_NEAR(rate(name).at(500), 0.1, 1e-12);
  }
}

TEST(LearningRateTest, WithoutWarmupItBeginsAtThePeak) {
  LearningRate each = rate("warmup-linear");
  each.warmup = 0;
  each.steps = 1;
  EXPECT_DOUBLE_EQ(each.at(1), 0.1);
  each.steps = 10;
  EXPECT_DOUBLE_EQ(each.at(1), 0.91);
}
