// A program as data. If it comes from a file, it may be wrong in any way.
#include "tpsp/Runtime/ReferenceProgram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace tpsp::reference;
using testing::HasSubstr;

namespace {

/// y = 3 sum_d x[b, d]; z = y.
Program sumOfRows() {
  Program program;
  program.values = {{{"b", "d"}, {2, 3}}, {{"b"}, {2}}, {{"b"}, {2}}};
  program.arguments = 1;
  program.operations = {
      {"reduce", "m.mlir:2:8", {0}, {{"kind", std::string("sum")}}},
      {"scale", "m.mlir:3:8", {1}, {{"factor", 3.0}}}};
  program.results = {2, 2};
  return program;
}

const Tensor x{{"b", "d"}, {2, 3}, {1, 2, 3, 4, 5, 6}};

std::string errorOf(const Program &program,
                    const std::vector<const Tensor *> &arguments = {&x}) {
  std::vector<Tensor> results;
  return evaluate(program, arguments, results);
}

} // namespace

TEST(ReferenceProgram, EvaluatesAndKeepsItsArguments) {
  std::vector<Tensor> results;
  std::vector<size_t> done;
  EvaluationOptions options;
  options.progress = [&](size_t i, size_t total) {
    EXPECT_EQ(total, 2u);
    done.push_back(i);
  };
  ASSERT_EQ(evaluate(sumOfRows(), {&x}, results, options), "");
  ASSERT_EQ(results.size(), 2u);
  for (const Tensor &result : results)
    EXPECT_EQ(result.data, (std::vector<double>{18, 45}));
  EXPECT_EQ(done, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(x.data.size(), 6u);
}

TEST(ReferenceProgram, SaysWhereAndWhatIsWrong) {
  Program program = sumOfRows();
  program.operations[1].name = "frobnicate";
  EXPECT_EQ(errorOf(program), "m.mlir:3:8: 'tpsp.frobnicate' has no evaluation "
                              "in the reference");
  program = sumOfRows();
  program.operations[1].attributes.clear();
  EXPECT_THAT(errorOf(program), HasSubstr("lacks the attribute 'factor'"));
  program.operations[1].attributes["factor"] = std::string("3");
  EXPECT_THAT(errorOf(program), HasSubstr("lacks the attribute 'factor'"));
  program = sumOfRows();
  program.values[1].shape = {3};
  EXPECT_THAT(errorOf(program), HasSubstr("was not evaluated to the indices"));
}

TEST(ReferenceProgram, RefusesNumbersThatFitNothing) {
  Program program = sumOfRows();
  program.operations[0].operands = {1};
  EXPECT_THAT(errorOf(program), HasSubstr("does not exist yet"));
  program = sumOfRows();
  program.operations[1].operands = {7};
  EXPECT_THAT(errorOf(program), HasSubstr("does not exist yet"));
  program = sumOfRows();
  program.operations[0].operands = {};
  EXPECT_THAT(errorOf(program), HasSubstr("has 0 operands of 1"));
  program = sumOfRows();
  program.results = {3};
  EXPECT_THAT(errorOf(program), HasSubstr("a result"));
  program = sumOfRows();
  program.arguments = 2;
  EXPECT_THAT(errorOf(program), HasSubstr("do not fit its operations"));
  program = sumOfRows();
  program.values.pop_back();
  EXPECT_THAT(errorOf(program), HasSubstr("do not fit its operations"));
}

TEST(ReferenceProgram, RefusesArgumentsThatDoNotFit) {
  const Tensor longer{{"b", "d"}, {3, 3}, std::vector<double>(9)};
  EXPECT_THAT(errorOf(sumOfRows(), {&longer}),
              HasSubstr("argument #0 does not have the names and shape of "
                        "[b, d]"));
  EXPECT_THAT(errorOf(sumOfRows(), {}), HasSubstr("takes 1 arguments, not 0"));
}

namespace {

/// k = router(x), w = x at k.
Program routed() {
  Program program;
  program.values = {
      {{"s", "e"}, {2, 3}}, {{"s", "k"}, {2, 1}}, {{"s", "k"}, {2, 1}}};
  program.arguments = 1;
  program.operations = {
      {"router",
       "m.mlir:2:8",
       {0},
       {{"expert", std::string("e")}, {"choice", std::string("k")}}},
      {"one_hot_einsum", "m.mlir:3:8", {1, 0}, {{"indices", IndexNames{"e"}}}}};
  program.results = {1, 2};
  return program;
}

} // namespace

TEST(ReferenceProgram, GoesOnWithWhatARunChose) {
  const Tensor scores{{"s", "e"}, {2, 3}, {1, 2, 1.75, 5, 4, 3}};
  Program program = routed();
  EXPECT_TRUE(isChoice(program, 1));
  EXPECT_FALSE(isChoice(program, 0));
  EXPECT_FALSE(isChoice(program, 2));
  EXPECT_FALSE(isChoice(program, 7));
  std::vector<Choice> choices = {{1, {{"s", "k"}, {2, 1}, {2, 0}}, -1}};
  std::vector<Tensor> results;
  EvaluationOptions options;
  options.choices = &choices;
  ASSERT_EQ(evaluate(program, {&scores}, results, options), "");
  EXPECT_EQ(results[0].data, (std::vector<double>{2, 0}));
  EXPECT_EQ(results[1].data, (std::vector<double>{1.75, 5}));
  EXPECT_NEAR(choices[0].shortfall, 0.25 / std::sqrt(2 * 58.0625 / 6), 1e-12);
}

TEST(ReferenceProgram, RefusesChoicesThatFitNothing) {
  const Tensor scores{{"s", "e"}, {2, 3}, {1, 2, 1.75, 5, 4, 3}};
  std::vector<Tensor> results;
  for (const Choice &wrong : {Choice{2, {{"s", "k"}, {2, 1}, {2, 0}}},
                              {7, {{"s", "k"}, {2, 1}, {2, 0}}},
                              {1, {{"s", "k"}, {2, 1}, {2}}},
                              {1, {{"s", "k"}, {1, 1}, {2}}}}) {
    std::vector<Choice> choices = {wrong};
    EvaluationOptions options;
    options.choices = &choices;
    EXPECT_THAT(evaluate(routed(), {&scores}, results, options),
                HasSubstr("is no choice of the reference program"));
  }
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {

/// y = sum_d x[b, d] w[d], with the gradients of both.
Program weighted(const std::string &how = "einsum") {
  Program program;
  program.values = {
      {{"b", "d"}, {2, 3}}, {{"d"}, {3}}, {{"b", "d"}, {2, 3}}, {{"b"}, {2}}};
  program.arguments = 2;
  program.operations = {{how, "m.mlir:2:8", {0}, {}},
                        {"einsum", "m.mlir:3:8", {2, 1}, {}}};
  program.results = {3};
  program.cotangents = {0};
  program.gradients = {0, 1};
  return program;
}

const Tensor w{{"d"}, {3}, {2, 3, 5}};
const Tensor g{{"b"}, {2}, {10, 100}};

} // namespace

TEST(ReferenceGradients, FollowTheCotangents) {
  std::vector<Tensor> results;
  ASSERT_EQ(evaluate(weighted(), {&x, &w, &g}, results), "");
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].data, (std::vector<double>{23, 53}));
  EXPECT_EQ(results[1].data, (std::vector<double>{20, 30, 50, 200, 300, 500}));
  EXPECT_EQ(results[2].data, (std::vector<double>{410, 520, 630}));
}

TEST(ReferenceGradients, AreZeroBehindAConstant) {
  std::vector<Tensor> results;
  ASSERT_EQ(evaluate(weighted("stop_gradient"), {&x, &w, &g}, results), "");
  EXPECT_EQ(results[1].data, std::vector<double>(6, 0));
  EXPECT_EQ(results[2].data, (std::vector<double>{410, 520, 630}));
}

TEST(ReferenceGradients, AddUpOverTheUsesOfAValue) {
  Program program = weighted();
  program.operations[0] = {"mul", "m.mlir:2:8", {0, 0}, {}};
  std::vector<Tensor> results;
  ASSERT_EQ(evaluate(program, {&x, &w, &g}, results), "");
  // 2 x w g
  EXPECT_EQ(results[1].data,
            (std::vector<double>{40, 120, 300, 1600, 3000, 6000}));
}

TEST(ReferenceGradients, AreOfValuesInsideToo) {
  Program program = weighted();
  program.operations[0] = {"mul", "m.mlir:2:8", {0, 0}, {}};
  program.gradients = {0, 2};
  std::vector<Tensor> results;
  ASSERT_EQ(evaluate(program, {&x, &w, &g}, results), "");
  ASSERT_EQ(results.size(), 3u);
  // 2 x w g of x, and w g of its square.
  EXPECT_EQ(results[1].data,
            (std::vector<double>{40, 120, 300, 1600, 3000, 6000}));
  EXPECT_EQ(results[2].data, (std::vector<double>{20, 30, 50, 200, 300, 500}));
}

TEST(ReferenceGradients, SayWhatHasNone) {
  Program program = weighted();
  program.operations[0] = {
      "slope", "m.mlir:2:8", {0}, {{"of", std::string("tanh")}}};
  EXPECT_EQ(errorOf(program, {&x, &w, &g}),
            "m.mlir:2:8: 'tpsp.slope' has no gradient in the reference");
  // An operation may lack a gradient if none is needed.
  program.gradients = {1};
  EXPECT_EQ(errorOf(program, {&x, &w, &g}), "");
}

TEST(ReferenceGradients, RefuseNumbersOfNothing) {
  Program program = weighted();
  program.cotangents = {1};
  EXPECT_THAT(errorOf(program, {&x, &w, &g}), HasSubstr("is of no result"));
  program = weighted();
  program.gradients = {4};
  EXPECT_THAT(errorOf(program, {&x, &w, &g}), HasSubstr("is of no value"));
  EXPECT_THAT(errorOf(weighted(), {&x, &w}), HasSubstr("takes 3 arguments"));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

int64_t numbers(int64_t count) { return count * int64_t(sizeof(double)); }

} // namespace

// The memory of x, its sums, and the result that replaces the sums.
TEST(ReferenceMemory, OfAForwardPass) {
  EXPECT_EQ(leastBytes(sumOfRows()), numbers(6 + 2));
  // The sums are a result, too, so both are kept.
  Program program = sumOfRows();
  program.results = {1, 2};
  EXPECT_EQ(leastBytes(program), numbers(6 + 2 + 2));
}

// The peak is after the einsum has been differentiated: x, w and g, its first
// operand and its result, and the gradients of all three.
TEST(ReferenceMemory, OfABackwardPass) {
  EXPECT_EQ(leastBytes(weighted()),
            numbers((6 + 3 + 2) + (6 + 2) + (2 + 6 + 3)));
  // Only w needs a gradient.
  Program program = weighted();
  program.gradients = {1};
  EXPECT_EQ(leastBytes(program), numbers((6 + 3 + 2) + (6 + 2) + (2 + 3)));
}

TEST(ReferenceMemory, OfAnUpdate) {
  // w - g[w], after a backward pass that needed as much.
  Program program = weighted();
  program.gradients = {1};
  program.values.push_back({{"d"}, {3}});
  program.operations.push_back({"gradient", "m.mlir:4:8", {1}, {}});
  program.updates = 1;
  program.results = {3, 4};
  EXPECT_EQ(leastBytes(program), numbers((6 + 3 + 2) + (6 + 2) + (2 + 3)));
  // Here a value of the update makes the peak.
  program.values.push_back({{"d", "e"}, {3, 100}});
  program.operations.push_back({"einsum", "m.mlir:5:8", {4}, {}});
  program.updates = 2;
  program.results = {3, 5};
  EXPECT_EQ(leastBytes(program), numbers((6 + 3 + 2) + 2 + (3 + 300)));
}

TEST(ReferenceMemory, OfNumbersOfNothingIsNone) {
  Program program = sumOfRows();
  program.operations[0].operands = {7};
  EXPECT_EQ(leastBytes(program), 0);
}

//===----------------------------------------------------------------------===//
// Rounding
//===----------------------------------------------------------------------===//

namespace {

std::vector<double> shifted(Element element, double x, double by) {
  Program program;
  program.values = {{{"i"}, {1}, element}, {{"i"}, {1}, element}};
  program.arguments = 1;
  program.operations = {{"shift", "m.mlir:2:8", {0}, {{"by", by}}}};
  program.results = {1};
  Tensor argument{{"i"}, {1}, {x}};
  std::vector<Tensor> results;
  EvaluationOptions options;
  options.arithmetic = Arithmetic::Rounded;
  EXPECT_EQ(evaluate(program, {&argument}, results, options), "");
  return results.front().data;
}

} // namespace

TEST(ReferenceRounding, IsThatOfTheValuesType) {
  using Values = std::vector<double>;
  EXPECT_EQ(shifted(Element::F64, 1, 0x1p-30), Values{1 + 0x1p-30});
  EXPECT_EQ(shifted(Element::F32, 1, 0x1p-24), Values{1}); // ties to even
  EXPECT_EQ(shifted(Element::F32, 1, 0x1.8p-24), Values{1 + 0x1p-23});
  EXPECT_EQ(shifted(Element::BF16, 1, 0x1p-8), Values{1});
  EXPECT_EQ(shifted(Element::BF16, 1, 0x1.8p-8), Values{1 + 0x1p-7});
  EXPECT_EQ(shifted(Element::F16, 1, 0x1p-11), Values{1});
  EXPECT_EQ(shifted(Element::F16, 1, 0x1.8p-11), Values{1 + 0x1p-10});
  // Subnormal numbers, and the largest number.
  EXPECT_EQ(shifted(Element::F16, 0, 0x1.8p-24), Values{0x1p-23});
  EXPECT_EQ(shifted(Element::F16, 65504, 15), Values{65504});
  EXPECT_EQ(shifted(Element::F16, 65504, 16),
            Values{std::numeric_limits<double>::infinity()});
}

// 1 + 2^-24 - 1 is 0 if the first half is stored in f32.
TEST(ReferenceRounding, PartsOfASumAreStored) {
  Operation sum{"reduce", "m.mlir:2:8", {0}, {{"kind", std::string("sum")}}};
  Operation mean{"mean", "m.mlir:2:8", {0}};
  Operation meanOfCounted{"mean", "m.mlir:2:8", {0, 1}};
  Tensor argument{{"i"}, {4}, {1, 0x1p-24, -1, 0}};
  Tensor labels{{"i"}, {4}, {0, 0, 0, 0}};
  for (const Operation &operation : {sum, mean, meanOfCounted}) {
    Program program;
    program.values = {{{"i"}, {4}, Element::F32},
                      {{"i"}, {4}, Element::Integer},
                      {{}, {}, Element::F32}};
    program.arguments = 2;
    program.operations = {operation};
    program.results = {2};
    std::vector<Tensor> results;
    EvaluationOptions options;
    ASSERT_EQ(evaluate(program, {&argument, &labels}, results, options), "");
    double terms = operation.name == "mean" ? 4 : 1;
    EXPECT_EQ(results.front().data, std::vector<double>{0x1p-24 / terms});
    options.arithmetic = Arithmetic::Rounded;
    ASSERT_EQ(evaluate(program, {&argument, &labels}, results, options), "");
    EXPECT_EQ(results.front().data, std::vector<double>{0});
  }
}

// In bf16, 256 + 1 is 256 again: half of 512 equal parts are lost.
TEST(ReferenceRounding, SumsOverMicroBatchesAreRoundedEachTime) {
  for (auto [element, sum] :
       {std::pair(Element::BF16, 256.0), {Element::F32, 512.0}}) {
    Program program;
    program.values = {{{"i"}, {1}, element}, {{"i"}, {1}, element}};
    program.arguments = 1;
    program.operations = {{"scale", "m.mlir:2:8", {0}, {{"factor", 1.0}}}};
    program.results = {1};
    program.cotangents = {0};
    program.gradients = program.reduced = {0};
    program.summedIn = Element::BF16;
    program.microBatches = 512;
    Tensor argument{{"i"}, {1}, {1}}, cotangent{{"i"}, {1}, {512}};
    std::vector<Tensor> results;
    EvaluationOptions options;
    ASSERT_EQ(evaluate(program, {&argument, &cotangent}, results, options), "");
    EXPECT_EQ(results.back().data, std::vector<double>{512});
    options.arithmetic = Arithmetic::Rounded;
    ASSERT_EQ(evaluate(program, {&argument, &cotangent}, results, options), "");
    EXPECT_EQ(results.back().data, std::vector<double>{sum});
  }
}

TEST(ReferenceProgram, DropsWhereARateIsAboveZero) {
  Program program = sumOfRows();
  EXPECT_FALSE(drops(program));
  program.operations[1] = {"dropout", "", {1}, {{"rate", 0.0}}};
  EXPECT_FALSE(drops(program));
  program.operations[1].attributes["rate"] = 0.1;
  EXPECT_TRUE(drops(program));
  program.operations[1] = {"attention", "", {1, 1, 1}, {{"scale", 0.5}}};
  EXPECT_FALSE(drops(program));
  program.operations[1].attributes["dropout"] = 0.1;
  EXPECT_TRUE(drops(program));
}
