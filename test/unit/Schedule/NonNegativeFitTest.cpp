#include "tpsp/Schedule/NonNegativeFit.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tpsp;
using testing::DoubleNear;
using testing::ElementsAre;

TEST(NonNegativeFit, FindsWhatMadeTheTargets) {
  std::vector<std::vector<double>> rows = {
      {1, 0, 1000}, {0, 2, 3000}, {4, 1, 100}, {3, 5, 20}};
  std::vector<double> targets;
  for (const std::vector<double> &row : rows)
    targets.push_back(2 * row[0] + 0.5 * row[1] + 0.001 * row[2]);
  EXPECT_THAT(nonNegativeFit(rows, targets),
              ElementsAre(DoubleNear(2, 1e-6), DoubleNear(0.5, 1e-6),
                          DoubleNear(0.001, 1e-9)));
}

// Without the bound the second coefficient would be -1.
TEST(NonNegativeFit, NothingIsNegative) {
  EXPECT_THAT(nonNegativeFit({{1, 1}, {2, 1}}, {1, 3}),
              ElementsAre(testing::Gt(0), 0));
}

TEST(NonNegativeFit, WhatNoRowHasIsZero) {
  EXPECT_THAT(nonNegativeFit({{0, 1}}, {3}), ElementsAre(0, 3));
  EXPECT_TRUE(nonNegativeFit({}, {}).empty());
}
