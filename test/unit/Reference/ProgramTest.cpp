// A program as data: what comes from a file may be anything.
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
  ASSERT_EQ(evaluate(sumOfRows(), {&x}, results,
                     [&](size_t i, size_t total) {
                       EXPECT_EQ(total, 2u);
                       done.push_back(i);
                     }),
            "");
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
  ASSERT_EQ(evaluate(program, {&scores}, results, {}, &choices), "");
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
    EXPECT_THAT(evaluate(routed(), {&scores}, results, {}, &choices),
                HasSubstr("is no choice of the reference program"));
  }
}
