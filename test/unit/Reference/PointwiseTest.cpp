//===- PointwiseTest.cpp - broadcasting by name ---------------------------===//

#include "TestTensors.h"

using namespace tpsp::reference;

namespace {

TEST(PointwiseTest, BroadcastsByNameInAnyOrder) {
  const Extents extents{{"a", 7}, {"b", 1}, {"c", 5}, {"d", 11}};
  const Tensor x = randomTensor({"d", "a"}, extents, 1);
  const Tensor y = randomTensor({"b", "c", "d"}, extents, 2);
  const Tensor z = scalar(0.5);
  Tensor want = zeros({"a", "b", "c", "d"}, extents);
  forEachPosition(extents, [&](const Position &p) {
    element(want, p) = element(x, p) - 3 * element(y, p) + 0.5;
  });
  const auto f = [](const double *v) { return v[0] - 3 * v[1] + v[2]; };
  expectNear(pointwise(f, {&x, &y, &z}, want.indices), want, 1e-15);
  const std::function<double(const double *)> wrapped = f;
  expectNear(pointwise(wrapped, {&x, &y, &z}, want.indices, want.shape), want,
             1e-15);
}

TEST(PointwiseTest, PositionsAreThoseOfTheResult) {
  // There are many rows, so that some threads start in the middle.
  const Shape shape{301, 3, 1, 211};
  const Tensor y = pointwiseAt(
      [](const double *, const int64_t *at) {
        return double(((at[0] * 3 + at[1]) * 1 + at[2]) * 211 + at[3]);
      },
      {}, {"i", "j", "k", "l"}, shape);
  ASSERT_EQ(int64_t(y.data.size()), elementCount(shape));
  for (size_t i = 0; i < y.data.size(); ++i)
    ASSERT_EQ(y.data[i], double(i));
}

TEST(PointwiseTest, ScalarsAndEmptyResults) {
  const Tensor x = scalar(3);
  const Tensor y = pointwise(*findScalarFunction("square"), {&x}, {});
  EXPECT_EQ(y.data, std::vector<double>{9});
  const Tensor none = pointwise(*findScalarFunction("neg"), {&x}, {"i"}, {0});
  EXPECT_TRUE(none.isValid());
  EXPECT_TRUE(none.data.empty());
}

TEST(PointwiseTest, FailedPreconditions) {
  const Tensor x = full({"i"}, {2}, 1), y = full({"i"}, {3}, 1);
  const ScalarFunction &add = *findScalarFunction("add");
  std::string error;
  expectError(pointwise(add, {&x, &y}, {"i"}, {}, &error), error, "extents");
  error.clear();
  expectError(pointwise(add, {&x}, {}, {}, &error), error, "not in the result");
  error.clear();
  expectError(pointwise(add, {}, {}, {}, &error), error, "does not take 0");
  error.clear();
  expectError(pointwise(add, {&x}, {"i"}, {3}, &error), error, "extents");
}

TEST(PointwiseTest, ExceptionsReachTheCaller) {
  const auto thrower = [](const double *) -> double { throw 42; };
  EXPECT_THROW(pointwise(thrower, {}, {"i", "j"}, {3, 5}), int);
  EXPECT_THROW(pointwise(thrower, {}, {"i", "j"}, {1000, 1000}), int);
}

} // namespace
