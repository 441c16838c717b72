#include "tpsp/Runtime/Train/InitialValues.h"

#include "TestTensor.h"

#include <gmock/gmock.h>

#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace {

class InitialValuesTest : public testing::Test {
protected:
  PlanBuffer &add(const char *name, BufferKind kind, int64_t number,
                  std::vector<int64_t> shape = {40, 50}) {
    std::vector<std::vector<int64_t>> axes(shape.size());
    PlanBuffer tensor = testTensor({}, std::move(shape), std::move(axes));
    tensor.name = name;
    tensor.kind = kind;
    tensor.number = number;
    plan.buffers.push_back(tensor);
    return plan.buffers.back();
  }

  std::vector<float> filled(const PlanBuffer &tensor) {
    InitialValues values(
        /*loss=*/1,
        std::make_unique<MastersFromParameters>(
            plan, std::make_unique<RandomSource>(3, RandomUse::Training)));
    std::vector<float> memory(tensor.bytes / sizeof(float), -7);
    EXPECT_TRUE(values.fill(tensor, Shard(tensor, {}, {}), memory.data()).ok());
    return memory;
  }

  static double deviation(const std::vector<float> &values) {
    double sum = 0, squares = 0;
    for (float value : values) {
      sum += value;
      squares += value * value;
    }
    double mean = sum / values.size();
    return std::sqrt(squares / values.size() - mean * mean);
  }

  Plan plan;
};

} // namespace

TEST_F(InitialValuesTest, ParametersAreNormal) {
  PlanBuffer &w = add("w", BufferKind::Parameter, 0);
  w.deviation = 0.5;
  std::vector<float> values = filled(w);
  EXPECT_NEAR(deviation(values), 0.5, 0.02);
  // Uniform numbers of this deviation would all be below 0.87.
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 1.2);
  w.initialDeviation = 0.125;
  EXPECT_NEAR(deviation(filled(w)), 0.125, 0.006);
}

TEST_F(InitialValuesTest, AMasterIsItsParameterUnrounded) {
  PlanBuffer &w = add("w", BufferKind::Parameter, 0);
  std::vector<float> whole = filled(w);
  w.dtype = TPSP_RT_BF16;
  PlanBuffer master = add("master[w]", BufferKind::State, 5);
  master.isMaster = true;
  master.of = 0;
  EXPECT_EQ(filled(master), whole);
}

TEST_F(InitialValuesTest, NumbersOfTheStepBeginAsTheirMean) {
  PlanBuffer scale = add("loss_scale", BufferKind::State, 5, {});
  scale.mean = 1024;
  scale.deviation = 0;
  EXPECT_THAT(filled(scale), testing::ElementsAre(1024));
}

TEST_F(InitialValuesTest, StateAndOtherCotangentsAreZero) {
  PlanBuffer mean = add("mean[w]", BufferKind::State, 5);
  mean.of = 0;
  EXPECT_THAT(filled(mean), testing::Each(0));
  PlanBuffer other = add("g[logits]", BufferKind::Input, 6);
  other.of = 0;
  EXPECT_THAT(filled(other), testing::Each(0));
  PlanBuffer loss = add("g[loss]", BufferKind::Input, 7, {});
  loss.of = 1;
  loss.mean = 1;
  loss.deviation = 0;
  EXPECT_THAT(filled(loss), testing::ElementsAre(1));
}
