#include "tpsp/Runtime/Train/Sampler.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

using namespace tpsp::train;

static const std::vector<double> logits = {std::log(1.), std::log(5.),
                                           std::log(2.), std::log(2.)};

TEST(DrawTokenTest, TemperatureZeroTakesTheLargest) {
  for (double uniform : {0., 0.5, 0.999})
    EXPECT_EQ(drawToken(logits, 0, uniform), 1);
  EXPECT_EQ(drawToken({2, 7, 7, 7}, 0, 0.9), 1) << "the first of several";
}

TEST(DrawTokenTest, TokensHaveTheirShareOfTheNumbers) {
  std::array<int, 4> counts = {};
  for (int i = 0; i < 1000; ++i)
    ++counts[drawToken(logits, 1, (i + 0.5) / 1000)];
  EXPECT_EQ(counts, (std::array<int, 4>{100, 500, 200, 200}));
}

TEST(DrawTokenTest, TemperatureFlattens) {
  // softmax(log(w) / 2) is proportional to sqrt(w).
  double sum = 1 + std::sqrt(5) + 2 * std::sqrt(2);
  EXPECT_EQ(drawToken(logits, 2, 1 / sum - 1e-9), 0);
  EXPECT_EQ(drawToken(logits, 2, 1 / sum + 1e-9), 1);
  EXPECT_EQ(drawToken(logits, 1e-3, 0.999), 1);
}

TEST(DrawTokenTest, ALogitThatIsNotFiniteIsNeverDrawn) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(drawToken({std::nan(""), 0, -infinity}, 0, 0.5), 1);
  for (double uniform : {0., 0.5, 0.999})
    EXPECT_EQ(drawToken({-infinity, 0, std::nan("")}, 1, uniform), 1);
  EXPECT_EQ(drawToken({std::nan(""), infinity}, 1, 0.5), -1);
}
