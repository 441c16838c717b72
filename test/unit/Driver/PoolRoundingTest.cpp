// Rounding of several tensors together.
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::rt;

static constexpr double tolerance = 1e-5;

static TensorError stepOf(int64_t elements, double rmsRounding,
                          double rmsReference) {
  TensorError error;
  error.elements = elements;
  error.rmsRounding = rmsRounding;
  error.rmsReference = rmsReference;
  error.rounding = rmsRounding / rmsReference;
  error.tolerance = tolerance;
  error.factor = error.excessFactor = roundingFactor;
  return error;
}

TEST(PoolRoundingTest, ASmallTensorIsHeldAgainstAll) {
  TensorError large = stepOf(97, 0.3, 3), small = stepOf(3, 0, 2);
  poolRounding({&large, &small});
  EXPECT_DOUBLE_EQ(large.rounding, 0.1);
  double pooled = 0.3 * std::sqrt(0.97);
  EXPECT_DOUBLE_EQ(small.rounding, pooled / 2);
  EXPECT_DOUBLE_EQ(small.allowed, roundingFactor * pooled / 2);
}

TEST(PoolRoundingTest, AWholeTensorTurnedOverStaysWrong) {
  // Rounding flips one element in a hundred; here all are flipped.
  TensorError large = stepOf(10000, 0.02 * 0.1, 1), small = stepOf(7, 0, 1);
  small.relative = 0.02;
  poolRounding({&large, &small});
  EXPECT_FALSE(small.passed());
}

TEST(PoolRoundingTest, NothingIsLoosenedWhereNothingRounds) {
  TensorError one = stepOf(5, 0, 1), zero = stepOf(4, 0, 0);
  zero.rounding = 0;
  zero.zeroReference = true;
  poolRounding({&one, &zero});
  EXPECT_EQ(one.allowed, tolerance);
  EXPECT_EQ(zero.allowed, 0);
}
