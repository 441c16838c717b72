#include "TestTensor.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BuiltinBackends.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::rt;

static constexpr double tolerance = 1e-5;
static constexpr double infinite = std::numeric_limits<double>::infinity();
static constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

/// Four ranks that hold one tensor: 2 x 2, axis 0 "dp", axis 1 "tp".
class ComparisonTest : public testing::Test {
protected:
  void SetUp() override {
    registerBuiltinBackends();
    plan.mesh = {{"dp", 2}, {"tp", 2}};
    WorldConfig config;
    config.mesh = plan.mesh;
    config.arenaBytes = 1024;
    config.threadsPerRank = 1;
    ASSERT_TRUE(World::create(config, world).ok());
  }

  PlanBuffer tensor(std::vector<int64_t> shape,
                    std::vector<std::vector<int64_t>> axes) const {
    return testTensor(plan.mesh, std::move(shape), std::move(axes));
  }

  /// Gives every rank its part of `values`.
  void hold(const PlanBuffer &tensor, const std::vector<float> &values) {
    each([&](Rank &rank) -> Status {
      std::vector<float> part(tensor.bytes / sizeof(float));
      Shard(tensor, plan.mesh, rank.coordinates())
          .forEachRun([&](int64_t global, int64_t local, int64_t n) {
            std::copy_n(values.begin() + global, n, part.begin() + local);
          });
      return rank.write(*tensor.offset, part.data(), tensor.bytes);
    });
  }

  void holdOn(int64_t number, const PlanBuffer &tensor,
              const std::vector<float> &part) {
    each([&](Rank &rank) -> Status {
      if (rank.number() != number)
        return {};
      return rank.write(*tensor.offset, part.data(),
                        part.size() * sizeof(float));
    });
  }

  void each(const std::function<Status(Rank &)> &body) {
    Status status = world->run(body);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  TensorError compare(const PlanBuffer &tensor,
                      const std::vector<double> &reference,
                      const std::vector<double> &rounded = {}) {
    ExpectedValues expected{reference, {}};
    // Half of the rounded evaluations err to the other side.
    std::vector<double> mirrored = rounded;
    for (size_t i = 0; i < rounded.size(); ++i)
      mirrored[i] = 2 * reference[i] - rounded[i];
    for (int i = 0; i < 4 && !rounded.empty(); ++i)
      for (const std::vector<double> &draw : {rounded, mirrored})
        expected.rounded.push_back(draw);
    return compareWith(tensor, expected);
  }

  TensorError compareWith(const PlanBuffer &tensor,
                          const ExpectedValues &expected,
                          const PlantedMistake &planted = {}) {
    TensorError error;
    Status status = compareTensor(*world, plan, tensor, expected, tolerance,
                                  error, planted);
    EXPECT_TRUE(status.ok()) << status.message();
    return error;
  }

  Plan plan;
  std::unique_ptr<World> world;
};

TEST_F(ComparisonTest, EqualTensorsHaveNoError) {
  PlanBuffer x = tensor({2, 4}, {{0}, {1}});
  hold(x, {1, 2, 3, 4, 5, 6, 7, 8});
  TensorError error = compare(x, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(error.relative, 0);
  EXPECT_EQ(error.maxAbsolute, 0);
  EXPECT_EQ(error.name, "x");
}

TEST_F(ComparisonTest, TheErrorIsRelativeToTheReference) {
  PlanBuffer x = tensor({2}, {{}});
  hold(x, {3, 4.5});
  TensorError error = compare(x, {3, 4});
  EXPECT_DOUBLE_EQ(error.relative, 0.5 / 5);
  EXPECT_DOUBLE_EQ(error.maxAbsolute, 0.5);
}

TEST_F(ComparisonTest, OneWrongReplicaIsCaught) {
  PlanBuffer x = tensor({2, 2}, {{}, {}});
  for (int64_t rank = 0; rank < 4; ++rank) {
    hold(x, {1, 2, 3, 4});
    holdOn(rank, x, {1, 2, 3, 5});
    EXPECT_NEAR(compare(x, {1, 2, 3, 4}).relative, 1 / std::sqrt(30.), 1e-12)
        << "rank " << rank;
  }
}

TEST_F(ComparisonTest, OneWrongShardIsCaughtThoughOthersAreLarge) {
  PlanBuffer x = tensor({4}, {{0}});
  hold(x, {1e6, 1e6, 1, 1});
  holdOn(3, x, {1, 2});
  EXPECT_NEAR(compare(x, {1e6, 1e6, 1, 1}).relative, std::sqrt(0.5), 1e-12);
}

TEST_F(ComparisonTest, PartsThatAreSwappedAreCaught) {
  PlanBuffer x = tensor({4}, {{1}});
  hold(x, {3, 4, 1, 2});
  EXPECT_GT(compare(x, {1, 2, 3, 4}).relative, 0.5);
}

TEST_F(ComparisonTest, NaNAndInfinityAreInfinitelyWrong) {
  PlanBuffer x = tensor({2}, {{}});
  for (float poison : {notANumber, float(infinite)}) {
    hold(x, {1, 2});
    holdOn(2, x, {1, poison});
    EXPECT_EQ(compare(x, {1, 2}).relative, infinite);
  }
}

TEST_F(ComparisonTest, NaNIsWrongWhereTheReferenceIsZero) {
  PlanBuffer x = tensor({2}, {{}});
  hold(x, {notANumber, 0});
  TensorError error = compare(x, {0, 0});
  EXPECT_EQ(error.relative, infinite);
  EXPECT_TRUE(error.zeroReference);
  EXPECT_FALSE(error.passed());
}

// An error of rank 1 is kept although rank 0 has none. A rank's NaN is kept
// although another rank has a number.
TEST_F(ComparisonTest, TheErrorOfARankIsKeptBesideAnyOther) {
  PlanBuffer x = tensor({4}, {{0}});
  hold(x, {1, notANumber, 1, 1});
  EXPECT_FALSE(compare(x, {1, double(notANumber), 1, 2}).passed());
  hold(x, {1, 1, 1, notANumber});
  EXPECT_FALSE(compare(x, {1, 1, 1, 1}).passed());
}

// The squares of these values overflow or vanish in f64.
TEST_F(ComparisonTest, HugeAndTinyValuesAreCompared) {
  PlanBuffer x = tensor({2}, {{}});
  x.dtype = TPSP_RT_F64;
  x.bytes = 16;
  for (double size : {1e300, 1e-300}) {
    each([&](Rank &rank) -> Status {
      double part[] = {3 * size, 4.5 * size};
      return rank.write(*x.offset, part, sizeof(part));
    });
    EXPECT_NEAR(compare(x, {3 * size, 4 * size}).relative, 0.1, 1e-12);
    EXPECT_EQ(compare(x, {3 * size, 4.5 * size}).relative, 0);
  }
}

// Next to elements of 1e30 an error of small elements would not show. So they
// are compared separately.
TEST_F(ComparisonTest, SmallElementsAreComparedByThemselves) {
  PlanBuffer x = tensor({4}, {{}});
  hold(x, {-1e30f, 1, 2, -1e30f});
  EXPECT_TRUE(compare(x, {double(-1e30f), 1, 2, double(-1e30f)}).passed());
  TensorError error = compare(x, {double(-1e30f), 1, 2.1, double(-1e30f)});
  EXPECT_FALSE(error.passed());
  EXPECT_TRUE(error.isOfSmall);
}

/// `values`, of which every second one is replaced by `fill`.
static std::vector<double> masked(std::vector<double> values, double fill) {
  for (size_t i = 0; i < values.size(); i += 2)
    values[i] = fill;
  return values;
}

// A mask may have any size from which 1 % of a score is within the tolerance.
TEST_F(ComparisonTest, ElementsBesideAMaskAreComparedByThemselves) {
  PlanBuffer x = tensor({40}, {{}});
  std::vector<double> right, wrong;
  for (int i = 0; i < 40; ++i) {
    right.push_back(0.5 + 0.01 * i);
    wrong.push_back(1.02 * right.back());
  }
  for (double fill : {-2e3, -1e5, -1e9, -1e20, -1e30}) {
    std::vector<double> expected = masked(right, fill);
    std::vector<double> given = masked(wrong, fill);
    hold(x, std::vector<float>(given.begin(), given.end()));
    TensorError error = compare(x, expected, expected);
    EXPECT_FALSE(error.passed()) << fill;
    EXPECT_TRUE(error.isOfSmall) << fill;
    EXPECT_NEAR(error.relative, 0.02, 1e-5) << fill;
    hold(x, std::vector<float>(expected.begin(), expected.end()));
    EXPECT_TRUE(compare(x, expected, expected).passed()) << fill;
  }
}

// A value where the reference has a zero is an error of the small elements.
TEST_F(ComparisonTest, ZerosBelongToTheSmallElements) {
  PlanBuffer x = tensor({40}, {{}});
  std::vector<double> expected = masked(std::vector<double>(40, 1), -1e9);
  expected[1] = 0;
  // A single tiny element is a group of its own.
  for (double tiny : {1.0, 5e-4}) {
    expected[3] = tiny;
    std::vector<float> given(expected.begin(), expected.end());
    given[1] = 0.5;
    hold(x, given);
    EXPECT_FALSE(compare(x, expected, expected).passed()) << tiny;
  }
}

// Elements of all sizes have no gap, so that the smallest of them may be off by
// the rounding of the others.
TEST_F(ComparisonTest, SmallElementsAmongAllSizesAreNoGroup) {
  PlanBuffer x = tensor({40}, {{}});
  std::vector<double> expected;
  for (int i = 0; i < 40; ++i)
    expected.push_back(std::ldexp(1.0, -i / 2));
  std::vector<float> given(expected.begin(), expected.end());
  given.back() += 1e-6f;
  hold(x, given);
  EXPECT_TRUE(compare(x, expected, expected).passed());
}

TEST_F(ComparisonTest, APlantedMistakeIsSeenOnAllRanksAndOnOne) {
  PlanBuffer x = tensor({4}, {{1}});
  hold(x, {1, 2, 3, 4});
  ExpectedValues expected{{1, 2, 3, 4}, {}};
  EXPECT_TRUE(compareWith(x, expected).passed());
  EXPECT_NEAR(compareWith(x, expected, {1.01, -1}).relative, 0.01, 1e-12);
  EXPECT_NEAR(compareWith(x, expected, {1.01, 3}).relative, 0.01, 1e-12);
}

TEST_F(ComparisonTest, HalvesAreReadAsThey) {
  PlanBuffer x = tensor({2}, {{}});
  x.bytes = 4;
  for (const HalfFloat &half : halfFloats) {
    x.dtype = half.dtype;
    each([&](Rank &rank) -> Status {
      uint16_t part[] = {half.round(1.5f), half.round(-2.0f)};
      return rank.write(*x.offset, part, sizeof(part));
    });
    EXPECT_EQ(compare(x, {1.5, -2}).relative, 0) << half.formatName;
  }
}

TEST_F(ComparisonTest, WhatOverflowsIsWrong) {
  PlanBuffer x = tensor({2}, {{}});
  x.dtype = TPSP_RT_F16;
  x.bytes = 4;
  each([&](Rank &rank) -> Status {
    uint16_t part[] = {floatToF16(70000.0f), floatToF16(1.0f)};
    return rank.write(*x.offset, part, sizeof(part));
  });
  EXPECT_EQ(compare(x, {70000, 1}).relative,
            std::numeric_limits<double>::infinity());
}

TEST_F(ComparisonTest, WhatTheReferenceMakesNotFiniteIsToldAndNotWrong) {
  PlanBuffer x = tensor({3}, {{}});
  hold(x, {1, notANumber, float(infinite)});
  TensorError error = compare(x, {1, double(notANumber), infinite});
  EXPECT_EQ(error.relative, 0);
  EXPECT_EQ(error.notFinite, 1);
  EXPECT_TRUE(error.passed());
  hold(x, {float(infinite), float(infinite), float(infinite)});
  EXPECT_EQ(compare(x, {infinite, infinite, infinite}).notFinite, 3);
  hold(x, {1, notANumber, float(infinite)});
  // One value is infinite, and the other has the other sign, is a number or a
  // NaN.
  for (double other : {-infinite, 1.0, double(notANumber)}) {
    error = compare(x, {1, double(notANumber), other});
    EXPECT_FALSE(error.passed()) << other;
  }
}

TEST_F(ComparisonTest, WhatOverflowsInTheReferencesRoundingIsNotWrong) {
  PlanBuffer x = tensor({2}, {{}});
  hold(x, {1, float(infinite)});
  TensorError error = compare(x, {1, 70000}, {1, infinite});
  EXPECT_TRUE(error.passed());
  EXPECT_EQ(error.notFinite, 1);
  EXPECT_FALSE(compare(x, {1, 70000}, {1, 70000}).passed());
}

//===----------------------------------------------------------------------===//
// Allowed errors
//===----------------------------------------------------------------------===//

TEST_F(ComparisonTest, SeveralTimesWhatRoundingMakesIsAllowed) {
  PlanBuffer x = tensor({elementsToJudgeAlone}, {{}});
  std::vector<double> exact(elementsToJudgeAlone, 1);
  auto withLast = [&](double value) {
    std::vector<double> values = exact;
    values.back() = value;
    return values;
  };
  std::vector<double> held = withLast(1.5);
  hold(x, {held.begin(), held.end()});
  double off = 0.5 / roundingFactor;
  TensorError error = compare(x, exact, withLast(1 + 1.01 * off));
  EXPECT_TRUE(error.passed());
  EXPECT_NEAR(error.allowed, 1.01 * error.relative, 1e-12);
  EXPECT_FALSE(compare(x, exact, withLast(1 + 0.99 * off)).passed());
  EXPECT_FALSE(compare(x, exact).passed());
}

// A shard of small elements may err by its own rounding, whatever the others
// are. Another shard's rounding does not excuse a wrong shard.
TEST_F(ComparisonTest, EveryShardIsJudgedByItsOwnRounding) {
  constexpr int64_t half = elementsToJudgeAlone;
  PlanBuffer x = tensor({2 * half}, {{0}});
  std::vector<float> values(half, 1e6);
  values.resize(2 * half, 1);
  values.back() = 1.25;
  hold(x, values);
  std::vector<double> exact(half, 1e6);
  exact.resize(2 * half, 1);
  std::vector<double> small = exact, large = exact;
  small.back() = 1.125;
  large.front() = 2e6;
  EXPECT_TRUE(compare(x, exact, small).passed());
  EXPECT_FALSE(compare(x, exact, large).passed());
}

// A shard of a few elements may have no rounding error by chance.
TEST_F(ComparisonTest, AShardOfFewElementsIsJudgedByTheTensorsRounding) {
  PlanBuffer x = tensor({4}, {{0}});
  hold(x, {3, 3, 1, 1.25});
  std::vector<double> exact = {3, 3, 1, 1};
  EXPECT_TRUE(compare(x, exact, {3.125, 3, 1, 1}).passed());
  EXPECT_FALSE(compare(x, exact, {3.01, 3, 1, 1}).passed());
  EXPECT_FALSE(compare(x, exact, exact).passed());
  // The rms of two numbers exceeds its expectation by up to 2.55.
  double rms = 0.125 / 2;
  EXPECT_NEAR(compare(x, exact, {3.125, 3, 1, 1}).rounding, 2.55 * rms, 1e-3);
}

//===----------------------------------------------------------------------===//
// Partial tensors
//===----------------------------------------------------------------------===//

TEST_F(ComparisonTest, SummandsAreAddedUp) {
  PlanBuffer x = tensor({2}, {{}});
  x.pending = {1};
  for (int64_t rank = 0; rank < 4; ++rank)
    holdOn(rank, x,
           rank % 2 ? std::vector<float>{1, 2} : std::vector<float>{10, 20});
  EXPECT_EQ(compare(x, {11, 22}).relative, 0);
}

TEST_F(ComparisonTest, SummandsOfShardsAreAddedUp) {
  PlanBuffer x = tensor({2}, {{0}});
  x.pending = {1};
  holdOn(0, x, {1});
  holdOn(1, x, {2});
  holdOn(2, x, {30});
  holdOn(3, x, {40});
  EXPECT_EQ(compare(x, {3, 70}).relative, 0);
}

TEST_F(ComparisonTest, AMissingSummandIsCaught) {
  PlanBuffer x = tensor({1}, {{}});
  x.pending = {0, 1};
  for (int64_t rank = 0; rank < 4; ++rank)
    holdOn(rank, x, {rank == 3 ? 0.0f : 1.0f});
  EXPECT_DOUBLE_EQ(compare(x, {4}).relative, 0.25);
}

TEST_F(ComparisonTest, NaNInASummandIsInfinitelyWrong) {
  PlanBuffer x = tensor({1}, {{}});
  x.pending = {0, 1};
  for (int64_t poisoned = 0; poisoned < 4; ++poisoned)
    for (bool isMaximum : {false, true}) {
      x.pendingMax = isMaximum;
      for (int64_t rank = 0; rank < 4; ++rank)
        holdOn(rank, x, {rank == poisoned ? notANumber : 1.0f});
      EXPECT_EQ(compare(x, {isMaximum ? 1.0 : 4.0}).relative, infinite);
    }
}

TEST_F(ComparisonTest, OfMaximaTheLargestCounts) {
  PlanBuffer x = tensor({2}, {{}});
  x.pending = {0, 1};
  x.pendingMax = true;
  for (int64_t rank = 0; rank < 4; ++rank)
    holdOn(rank, x, {float(-1 - rank), float(rank)});
  EXPECT_EQ(compare(x, {-1, 3}).relative, 0);
}

//===----------------------------------------------------------------------===//
// Zero references
//===----------------------------------------------------------------------===//

TEST_F(ComparisonTest, WhatIsZeroButForRoundingMayBeOffByIt) {
  PlanBuffer x = tensor({elementsToJudgeAlone}, {{}});
  std::vector<double> exact(elementsToJudgeAlone, 1e-17);
  std::vector<double> rounded(elementsToJudgeAlone, 1e-8);
  hold(x, std::vector<float>(elementsToJudgeAlone, 5e-8f));
  TensorError error = compare(x, exact, rounded);
  EXPECT_TRUE(error.zeroReference);
  EXPECT_TRUE(error.passed());
  EXPECT_NEAR(error.relative, 5e-8, 1e-12);
  hold(x, std::vector<float>(elementsToJudgeAlone, 9e-8f));
  EXPECT_FALSE(compare(x, exact, rounded).passed());
}

TEST_F(ComparisonTest, ZeroIsExactWhereNothingRounds) {
  PlanBuffer x = tensor({2}, {{}});
  hold(x, {0, 1e-9f});
  EXPECT_FALSE(compare(x, {0, 0}, {0, 0}).passed());
  hold(x, {0, 0});
  EXPECT_TRUE(compare(x, {0, 0}, {0, 0}).passed());
}

TEST_F(ComparisonTest, SmallIsNotZero) {
  PlanBuffer x = tensor({2}, {{}});
  hold(x, {0, 1e-12f});
  TensorError error = compare(x, {1e-12, 1e-12}, {1e-12, 1e-12});
  EXPECT_FALSE(error.zeroReference);
  EXPECT_FALSE(error.passed());
}

// The square of a gradient that is zero in mathematics: noise that is four
// times another's has a square that is 16 times the other's.
TEST_F(ComparisonTest, SquaresOfNoiseAreLostAndNotWrong) {
  PlanBuffer x = tensor({elementsToJudgeAlone}, {{}});
  std::vector<double> exact(elementsToJudgeAlone, 1);
  std::vector<double> rounded(elementsToJudgeAlone, 1.1);
  for (auto [value, isRight] :
       {std::pair(2.5f, true), std::pair(8.0f, false)}) {
    hold(x, std::vector<float>(elementsToJudgeAlone, value));
    TensorError error = compare(x, exact, rounded);
    EXPECT_TRUE(error.isLost());
    EXPECT_EQ(error.passed(), isRight) << value;
  }
}

//===----------------------------------------------------------------------===//
// Roundings of the whole program
//===----------------------------------------------------------------------===//

// A step is skipped because f16 overflows: the program gives 2 in f64, but 0 in
// its types.
TEST_F(ComparisonTest, WhereRoundingLeavesNothingTheRoundedProgramDecides) {
  PlanBuffer x = tensor({1}, {{}});
  ExpectedValues expected{{2}, {{0}, {0}, {0}}};
  for (auto [value, isRight] :
       {std::pair(0.0f, true), std::pair(1.0f, false), std::pair(2.0f, true)}) {
    hold(x, {value});
    EXPECT_EQ(compareWith(x, expected).passed(), isRight) << value;
  }
}

TEST(RoundingFactorTest, FewNumbersTellLess) {
  EXPECT_EQ(roundingFactorOf(7), roundingFactor);
  for (int64_t samples = 2; samples < 7; ++samples)
    EXPECT_GT(roundingFactorOf(samples - 1), roundingFactorOf(samples));
}
