//===- NormalizationTest.cpp - softmax, layer_norm, rms_norm --------------===//

#include "TestTensors.h"
#include "tpsp/Runtime/ReferenceProgram.h"

using namespace tpsp::reference;

namespace {

const Extents kExtents{{"b", 3}, {"q", 7}, {"t", 5}, {"h", 2}};

/// Computes softmax by its definition, without the shift by the maximum.
Tensor naiveSoftmax(const Tensor &x, const std::string &index, double scale,
                    const std::string &query) {
  Tensor y = zeros(x.indices, kExtents), sums = y;
  forEachPosition(kExtents, [&](const Position &p) {
    if (query.empty() || p.at(index) <= p.at(query))
      element(y, p) = std::exp(scale * element(x, p));
  });
  Tensor result = y;
  forEachPosition(kExtents, [&](const Position &p) {
    double sum = 0;
    Position other = p;
    for (int64_t i = 0; i < kExtents.at(index); ++i) {
      other[index] = i;
      sum += element(y, other);
    }
    element(result, p) = element(y, p) / sum;
  });
  return result;
}

TEST(SoftmaxTest, AgainstTheDefinition) {
  for (const IndexNames &layout :
       {IndexNames{"b", "h", "q", "t"}, IndexNames{"t", "q", "b", "h"},
        IndexNames{"q", "b", "t", "h"}}) {
    const Tensor x = randomTensor(layout, kExtents, 1);
    expectNear(softmax(x, "t", -0.7), naiveSoftmax(x, "t", -0.7, ""));
    // There are fewer keys than queries, or fewer queries than keys.
    expectNear(softmax(x, "t", 1.3, "q"), naiveSoftmax(x, "t", 1.3, "q"));
    expectNear(softmax(x, "q", 1.3, "t"), naiveSoftmax(x, "q", 1.3, "t"));
  }
}

TEST(SoftmaxTest, RowsSumToOneForHugeArguments) {
  Tensor x = randomTensor({"b", "t", "q"}, kExtents, 2);
  for (double &value : x.data)
    value = 1e6 * value + 1e8;
  for (const double sum : reduceSum(softmax(x, "t"), {"q", "b"}).data)
    EXPECT_NEAR(sum, 1, 1e-14);
}

TEST(SoftmaxTest, ExtentOneEmptyAndErrors) {
  EXPECT_EQ(softmax(full({"i", "j"}, {3, 1}, 5), "j").data,
            std::vector<double>(3, 1.0));
  EXPECT_TRUE(softmax(full({"i", "j"}, {3, 0}, 5), "j").isValid());
  std::string error;
  const Tensor x = full({"i", "j"}, {3, 2}, 5);
  expectError(softmax(x, "k", 1, {}, &error), error, "'k'");
  error.clear();
  expectError(softmax(x, "j", 1, "k", &error), error, "query index 'k'");
  error.clear();
  expectError(softmax(x, "j", 1, "j", &error), error, "query index 'j'");
}

/// Returns (x - mean) / sqrt(mean((x - mean)^2) + eps) over q and h. For
/// rmsNorm the mean of x counts as 0.
Tensor naiveNorm(const Tensor &x, bool centered, double eps) {
  const Extents kept{{"b", kExtents.at("b")}, {"t", kExtents.at("t")}};
  const double count = kExtents.at("q") * kExtents.at("h");
  Tensor sums = zeros({"b", "t"}, kExtents), squares = sums, y = x;
  forEachPosition(kExtents, [&](const Position &p) {
    element(sums, p) += centered ? element(x, p) : 0.0;
  });
  forEachPosition(kExtents, [&](const Position &p) {
    element(y, p) -= element(sums, p) / count;
    element(squares, p) += element(y, p) * element(y, p);
  });
  forEachPosition(kExtents, [&](const Position &p) {
    element(y, p) /= std::sqrt(element(squares, p) / count + eps);
  });
  return y;
}

/// Evaluates layer_norm of x, gain and bias, or rms_norm of x and gain.
Tensor norm(const Operands &operands, double eps,
            std::string *error = nullptr) {
  const bool centered = operands.size() == 3;
  Program program;
  for (const Tensor *operand : operands)
    program.values.push_back({operand->indices, operand->shape});
  program.values.push_back(program.values.front());
  program.arguments = operands.size();
  program.operations = {{centered ? "layer_norm" : "rms_norm",
                         "m.mlir:2:8",
                         {0, 1},
                         {{"eps", eps}}}};
  if (centered)
    program.operations[0].operands.push_back(2);
  program.results = {operands.size()};
  std::vector<Tensor> results;
  const std::string problem = evaluate(program, operands, results);
  if (error)
    *error = problem;
  return problem.empty() ? results[0] : Tensor{};
}

TEST(NormTest, AgainstLoops) {
  const Tensor x = randomTensor({"q", "b", "h", "t"}, kExtents, 3);
  const Tensor gain = randomTensor({"h", "q"}, kExtents, 4);
  const Tensor bias = randomTensor({"q"}, kExtents, 5);
  for (const bool centered : {false, true}) {
    Tensor want = naiveNorm(x, centered, 0.01);
    forEachPosition(kExtents, [&](const Position &p) {
      element(want, p) *= element(gain, p);
      element(want, p) += centered ? element(bias, p) : 0.0;
    });
    expectNear(
        norm(centered ? Operands{&x, &gain, &bias} : Operands{&x, &gain}, 0.01),
        want);
  }
}

TEST(NormTest, FailedPreconditions) {
  const Tensor x = full({"i", "j"}, {3, 2}, 5), gain = full({"k"}, {2}, 1);
  std::string error;
  expectError(norm({&x, &gain}, 0, &error), error, "[k]");
  expectError(norm({&x, &gain, &gain}, 0, &error), error, "[k]");
}

} // namespace
