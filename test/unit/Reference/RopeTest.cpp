//===- RopeTest.cpp - rotary position embedding ---------------------------===//

#include "TestTensors.h"

#include <complex>

using namespace tpsp::reference;

namespace {

const Extents kExtents{{"b", 3}, {"s", 7}, {"h", 1}, {"d", 10}};

/// Pairs as complex numbers, turned by exp(i angle).
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

TEST(RopeTest, InverseUndoes) {
  const Tensor x = randomTensor({"b", "s", "h", "d"}, kExtents, 2);
  expectNear(rope(rope(x, "s", "d", 10000), "s", "d", 10000, true), x);
  // Position 0 does not turn.
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
