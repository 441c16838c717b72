//===- ComparisonTest.cpp - errors of computed tensors --------------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

TEST(ComparisonTest, ErrorsByHand) {
  const Tensor want{{"i"}, {3}, {3, 0, -4}};
  const std::vector<double> got = {3, 0.5, -4};
  EXPECT_DOUBLE_EQ(relativeError(want, got.data()), 0.1);
  EXPECT_DOUBLE_EQ(maxAbsoluteError(want, got.data()), 0.5);
  EXPECT_EQ(difference(want, got.data()).worst, 1);
  EXPECT_EQ(relativeError(want, want.data.data()), 0);
}

TEST(ComparisonTest, EveryElementType) {
  // All exact in bfloat16, whose bits are the upper half of a float's.
  const Tensor want{{"i"}, {4}, {1, -2.5, 0, 96}};
  const float floats[] = {1, -2.5f, 0, 96};
  const uint16_t bits[] = {0x3F80, 0xC020, 0x0000, 0x42C0};
  float moreFloats[] = {1, -2.5f, 0, 97}; // Through a pointer to non-const.
  EXPECT_EQ(relativeError(want, floats), 0);
  EXPECT_EQ(relativeError(want, bits), 0);
  EXPECT_EQ(maxAbsoluteError(want, moreFloats), 1);
  EXPECT_EQ(maxAbsoluteError(want, [](int64_t i) { return i; }), 93);
  EXPECT_EQ(fromBfloat16(0x4049), 3.140625);
}

TEST(ComparisonTest, ZeroReferenceGivesTheNormItself) {
  const Tensor want = full({"i"}, {2}, 0);
  const double got[] = {3, 4};
  EXPECT_EQ(relativeError(want, got), 5);
  EXPECT_EQ(relativeError(want, want.data.data()), 0);
}

TEST(ComparisonTest, NotFiniteIsInfinitelyWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor want = full({"i"}, {2}, 1);
  for (const double bad : {nan, kInfinity, -kInfinity}) {
    const double got[] = {1, bad};
    EXPECT_EQ(relativeError(want, got), kInfinity);
    EXPECT_EQ(maxAbsoluteError(want, got), kInfinity);
    EXPECT_EQ(difference(want, got).worst, 1);
    // Nor does an infinity agree with an infinity.
    EXPECT_EQ(relativeError(Tensor{{"i"}, {2}, {1, bad}}, got), kInfinity);
  }
  const uint16_t bits[] = {0x3F80, 0x7FC0};
  EXPECT_EQ(relativeError(want, bits), kInfinity);
  const double huge[] = {1, 1e200}; // Its square overflows.
  EXPECT_EQ(relativeError(want, huge), kInfinity);
}

TEST(ComparisonTest, NothingToCompare) {
  const Difference none =
      difference(full({"i"}, {0}, 0), static_cast<const double *>(nullptr));
  EXPECT_EQ(none.relative, 0);
  EXPECT_EQ(none.worst, -1);
}

} // namespace
