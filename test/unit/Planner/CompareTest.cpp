#include "tpsp/Planner/Compare.h"
#include "SearchCase.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::HasSubstr;
using testing::Not;

static Evaluation plan(ClassId on, double computing, double exposed,
                       int64_t bytes) {
  Evaluation result;
  result.candidate.axes = {{"dp", 4, {AxisRole::Data, on, {}, false, false}}};
  result.seconds = computing + exposed;
  result.exposed = exposed;
  result.parts = {{"products", computing}, {"all_reduce over dp", exposed}};
  result.memory.parameters = result.memory.total = bytes;
  return result;
}

/// The plan b@dp is first. s@dp computes longer and sends less.
static SearchResult twoPlans() {
  SearchResult result;
  result.evaluations = {plan(0, 1, 0.5, 900), plan(1, 1.4, 0.3, 700)};
  return result;
}

static Matrix matrixOf(const SearchResult &result, int64_t limit) {
  MatrixOptions options;
  options.memoryLimit = limit;
  options.devices = 4;
  return makeMatrix(result, {result.evaluations.back().candidate},
                    mlp(4, 4, 8, 8), options);
}

TEST(Compare, PlansAreFoundByRankNameAndSubscripts) {
  SearchResult result = twoPlans();
  ProgramFacts facts = mlp(4, 4, 8, 8);
  const Evaluation *first = &result.evaluations[0],
                   *second = &result.evaluations[1];
  EXPECT_EQ(findPlan(result, facts, 1000, "1"), first);
  EXPECT_EQ(findPlan(result, facts, 1000, "2"), second);
  EXPECT_EQ(findPlan(result, facts, 800, "1"), second);
  EXPECT_EQ(findPlan(result, facts, 1000, "DP 4"), first);
  EXPECT_EQ(findPlan(result, facts, 1000, "dp=4: s@dp"), second);
  EXPECT_EQ(findPlan(result, facts, 1000, "3"), nullptr);
}

// A named plan is compiled, even if its bounds say that it is slower, or if
// time is up.
TEST(Compare, NamedPlansAreCompiled) {
  Case each(3);
  const ProgramFacts &facts = each.space.program();
  for (int64_t evaluations : {1, 0}) {
    each.options.evaluationsLimit = evaluations;
    for (const std::string name : {"TP 16", "DP 2 x TP 8"}) {
      std::vector<Candidate> called =
          candidatesNamed(name, each.space, each.bounds);
      ASSERT_FALSE(called.empty()) << name;
      each.options.named = {called};
      SearchResult result =
          search(each.space, each.bounds, each.factory(), each.space.pure(),
                 each.options, [](const SearchState &) {});
      const Evaluation *found =
          findPlan(result, facts, each.options.memoryLimit, name);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_FALSE(found->isBound);
      EXPECT_GT(found->memory.total, 0);
      EXPECT_EQ(usualName(found->candidate, facts), name);
    }
  }
  EXPECT_THAT(candidatesNamed("17", each.space, each.bounds),
              testing::IsEmpty());
}

TEST(Compare, LargestDifferenceFirst) {
  SearchResult result = twoPlans();
  std::string text = compareText(result.evaluations[0], result.evaluations[1],
                                 {"one", "other"});
  EXPECT_THAT(text, HasSubstr("+200 ms"));
  size_t products = text.find("products"), reduced = text.find("all_reduce");
  EXPECT_LT(products, reduced);
  EXPECT_THAT(text, HasSubstr("-200 ms"));
  EXPECT_THAT(text, HasSubstr("A: one\nB: other"));
}

// Values that differ by rounding are the same. Plans that differ by less than
// the shown digits are equally fast.
TEST(Compare, NothingIsNoDifference) {
  SearchResult result;
  result.evaluations = {plan(0, 0.1 + 0.2, 0.5, 900), plan(1, 0.3, 0.5, 900)};
  ASSERT_NE(result.evaluations[0].parts["products"], 0.3);
  std::string text = compareText(result.evaluations[0], result.evaluations[1],
                                 {"one", "other"});
  EXPECT_THAT(text, Not(HasSubstr("ns")));
  EXPECT_THAT(text, HasSubstr("same\n"));
  EXPECT_THAT(sensitivityText(matrixOf(result, 1000)),
              HasSubstr("to spare, as fast as plan 2"));
  result.evaluations[1].seconds *= 1.5;
  EXPECT_THAT(sensitivityText(matrixOf(result, 1000)),
              HasSubstr("50.0 % faster than plan 2"));
}

// 1 + 0.5 x = 1.4 + 0.3 x for x = 2. On both sides of it the order of the plans
// is as the flip says.
TEST(Compare, WhatFlipsTheChoice) {
  SearchResult result = twoPlans();
  Matrix matrix = matrixOf(result, 1000);
  std::vector<Flip> flips = flipsOf(matrix);
  ASSERT_EQ(flips.size(), 1u);
  double x = flips[0].network;
  EXPECT_NEAR(x, 2, 1e-9);
  for (double at : {0.9 * x, 1.1 * x})
    EXPECT_EQ(1 + 0.5 * at < 1.4 + 0.3 * at, at < x);
  EXPECT_THAT(sensitivityText(matrix),
              HasSubstr("plan 2 (CP 4) would be first if communication took 2 "
                        "times as long"));
  // A plan that sends more and computes longer is never first.
  result.evaluations[1] = plan(1, 1.4, 0.6, 700);
  EXPECT_TRUE(flipsOf(matrixOf(result, 1000)).empty());
}

TEST(Compare, MemoryFlipsTheChoice) {
  SearchResult result = twoPlans();
  std::swap(result.evaluations[0], result.evaluations[1]);
  std::vector<Flip> flips = flipsOf(matrixOf(result, 800));
  ASSERT_EQ(flips.size(), 1u);
  EXPECT_EQ(flips[0].bytes, 100);
  EXPECT_EQ(flips[0].network, 0);
}

TEST(Compare, PictureHasEveryPlanAndTheLimit) {
  SearchResult result = twoPlans();
  result.evaluations.push_back(plan(0, 2, 0.5, 950));
  std::string svg = paretoSvg(matrixOf(result, 1000));
  size_t circles = 0;
  for (size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 3u);
  EXPECT_THAT(svg, HasSubstr("class=\"limit\""));
  // The third plan is worse in time and in memory.
  EXPECT_THAT(svg, HasSubstr("class=\"plan\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}
