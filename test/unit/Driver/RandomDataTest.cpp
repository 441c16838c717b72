#include "TestTensor.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;
using Kind = BufferKind;

static const std::vector<MeshAxis> mesh = {{"a", 2}, {"b", 3}};

static PlanBuffer named(const std::string &name, Kind kind,
                        std::vector<int64_t> shape) {
  std::vector<std::vector<int64_t>> axes(shape.size());
  PlanBuffer tensor = testTensor(mesh, std::move(shape), std::move(axes));
  tensor.name = name;
  tensor.kind = kind;
  return tensor;
}

static double mean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value;
  return sum / values.size();
}

static double deviation(const std::vector<double> &values) {
  double center = mean(values), sum = 0;
  for (double value : values)
    sum += (value - center) * (value - center);
  return std::sqrt(sum / values.size());
}

TEST(RandomDataTest, ByDefaultValuesHaveUnitVariance) {
  auto data = RandomTensor(named("x", Kind::Input, {200, 500}), 0).whole();
  EXPECT_NEAR(mean(data), 0, 0.02);
  EXPECT_NEAR(deviation(data), 1, 0.02);
}

TEST(RandomDataTest, ATensorSaysHowItsValuesScatter) {
  PlanBuffer gain = named("g", Kind::Parameter, {100000});
  gain.mean = 1;
  gain.deviation = 0.02;
  auto data = RandomTensor(gain, 0).whole();
  EXPECT_NEAR(mean(data), 1, 0.001);
  EXPECT_NEAR(deviation(data), 0.02, 0.001);
}

TEST(RandomDataTest, WhatDoesNotScatterIsItsMean) {
  PlanBuffer cotangent = named("g[loss]", Kind::Input, {});
  cotangent.mean = 1;
  cotangent.deviation = 0;
  for (uint64_t seed : {0, 1, 2})
    EXPECT_EQ(RandomTensor(cotangent, seed).whole(), std::vector<double>{1});
}

TEST(RandomDataTest, DependsOnSeedAndNameAlone) {
  auto data = [](const std::string &name, uint64_t seed) {
    return RandomTensor(named(name, Kind::Input, {64}), seed).whole();
  };
  EXPECT_EQ(data("x", 1), data("x", 1));
  EXPECT_NE(data("x", 1), data("x", 2));
  EXPECT_NE(data("x", 1), data("y", 1));
}

/// Returns a rank's element as the tensor stores it.
static double stored(const std::vector<char> &memory, int64_t dtype,
                     int64_t i) {
  switch (dtype) {
  case TPSP_RT_BF16:
    return bf16ToFloat(reinterpret_cast<const uint16_t *>(memory.data())[i]);
  case TPSP_RT_F16:
    return f16ToFloat(reinterpret_cast<const uint16_t *>(memory.data())[i]);
  case TPSP_RT_F64:
    return reinterpret_cast<const double *>(memory.data())[i];
  default:
    return reinterpret_cast<const float *>(memory.data())[i];
  }
}

TEST(RandomDataTest, EveryRankHoldsItsPartOfTheWhole) {
  for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_BF16, TPSP_RT_F16, TPSP_RT_F64}) {
    PlanBuffer tensor = testTensor(mesh, {4, 6, 5}, {{0}, {1}, {}});
    tensor.dtype = dtype;
    RandomTensor values(tensor, 7);
    std::vector<double> whole = values.whole();
    ASSERT_EQ(whole.size(), 4u * 6 * 5);
    for (const auto &coordinates : allCoordinates(mesh)) {
      Shard shard(tensor, mesh, coordinates);
      std::vector<char> memory(shard.elements() * sizeof(double));
      values.fill(shard, memory.data());
      shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          ASSERT_EQ(stored(memory, dtype, local + i), whole[global + i])
              << "type " << dtype;
      });
    }
  }
}

TEST(RandomDataTest, TheReferenceSeesWhatHalvesHold) {
  PlanBuffer tensor = named("x", Kind::Input, {1000});
  for (const HalfFloat &half : halfFloats) {
    tensor.dtype = half.dtype;
    for (double value : RandomTensor(tensor, 0).whole())
      ASSERT_EQ(value, half.widen(half.round(float(value))));
  }
}

TEST(RandomDataTest, NoElementsAreNoTrouble) {
  EXPECT_TRUE(RandomTensor(named("x", Kind::Input, {0, 3}), 0).whole().empty());
  EXPECT_EQ(RandomTensor(named("x", Kind::Input, {}), 0).whole().size(), 1u);
}
