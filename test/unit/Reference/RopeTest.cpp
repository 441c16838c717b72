//===- RopeTest.cpp - rotary position embedding ---------------------------===//

#include "TestTensors.h"

#include <complex>

using namespace tpsp::reference;

namespace {

const Extents kExtents{{"b", 3}, {"s", 7}, {"h", 1}, {"d", 10}};

/// Rotates pairs as complex numbers, by exp(i angle).
Tensor naiveRope(const Tensor &x, double theta, double sign) {
  const int64_t half = kExtents.at("d") / 2;
  Tensor y = x;
  forEachPosition(kExtents, [&](const Position &p) {
    if (p.at("d") >= half)
      return;
    Position upper = p;
    upper["d"] += half;
    const double frequency =
        std::pow(theta, -2.0 * p.at("d") / kExtents.at("d"));
    const std::complex<double> turned =
        std::complex<double>(element(x, p), element(x, upper)) *
        std::polar(1.0, sign * p.at("s") * frequency);
    element(y, p) = turned.real();
    element(y, upper) = turned.imag();
  });
  return y;
}

TEST(RopeTest, AgainstComplexNumbersInSeveralLayouts) {
  for (const IndexNames &layout :
       {IndexNames{"b", "s", "h", "d"}, IndexNames{"d", "h", "s", "b"},
        IndexNames{"s", "d", "b", "h"}}) {
    const Tensor x = randomTensor(layout, kExtents, 1);
    expectNear(rope(x, "s", "d", 10000), naiveRope(x, 10000, 1));
    expectNear(rope(x, "s", "d", 50, true), naiveRope(x, 50, -1));
  }
}

/// Returns the frequencies, which pairs of a vector of ones at position 1 show.
std::vector<double> frequencies(const RopeScaling &scaling) {
  const Tensor x = full({"s", "d"}, {2, 6}, 1);
  const Tensor y = rope(x, "s", "d", 1e6, false, nullptr, scaling);
  std::vector<double> out;
  for (int64_t m = 0; m < 3; ++m)
    out.push_back(std::atan2(y.data[9 + m], y.data[6 + m]) - std::acos(-1) / 4);
  return out;
}

TEST(RopeTest, SlowsWhatTurnsSeldom) {
  // Unscaled, the frequencies are 1, 0.01 and 0.0001 for each position. Over
  // 200 pi positions the pairs turn 100 times, once, and a hundredth of a turn.
  const double context = 200 * std::acos(-1);
  auto expect = [](const RopeScaling &scaling, std::vector<double> wanted) {
    std::vector<double> found = frequencies(scaling);
    for (size_t m = 0; m < wanted.size(); ++m)
      EXPECT_NEAR(found[m], wanted[m], 1e-12) << m;
  };
  expect({4}, {0.25, 0.0025, 0.000025});
  expect({4, context, 0.5, 2.5}, {1, 0.25 * 0.01 + 0.75 * 0.0025, 0.000025});
  // One turn is half way between 0.1 and 10 in the logarithm.
  expect({4, context, 0.1, 10, true}, {1, 0.5 * 0.01 + 0.5 * 0.0025, 0.000025});
}

TEST(RopeTest, InverseUndoes) {
  const Tensor x = randomTensor({"b", "s", "h", "d"}, kExtents, 2);
  expectNear(rope(rope(x, "s", "d", 10000), "s", "d", 10000, true), x);
  // Position 0 is not rotated.
  const Tensor y = rope(x, "s", "d", 10000);
  for (int64_t i = 0; i < kExtents.at("d"); ++i)
    EXPECT_EQ(y.data[i], x.data[i]);
}

TEST(RopeTest, FailedPreconditions) {
  const Tensor x = full({"s", "d"}, {2, 3}, 1), y = full({"s", "d"}, {2, 4}, 1);
  std::string error;
  expectError(rope(x, "s", "d", 10, false, &error), error, "even");
  error.clear();
  expectError(rope(y, "t", "d", 10, false, &error), error, "'t'");
  error.clear();
  expectError(rope(y, "d", "d", 10, false, &error), error, "'d'");
}

} // namespace
