#include "tpsp/Planner/Matrix.h"
#include "SmallPrograms.h"

#include <gmock/gmock.h>

using namespace tpsp;
using namespace tpsp::planner;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

static Evaluation plan(AxisUse use, double seconds, int64_t bytes) {
  Evaluation result;
  result.candidate.axes = {{"a", 4, std::move(use)}};
  result.seconds = seconds;
  result.memory.total = bytes;
  return result;
}

/// Returns plans, best first, as a search does.
static SearchResult fourPlans() {
  SearchResult result;
  Evaluation best = plan({AxisRole::Data, 0, {}, false, false}, 1, 900);
  best.parts = {{"products", 0.9}, {"all_reduce over a", 0.1}};
  Evaluation slower = plan({AxisRole::Data, 1, {}, false, false}, 1.5, 950);
  slower.parts = {{"products", 0.95}, {"all_gather over a", 0.4}};
  slower.tensors = {{"all_gather over a", "w1, w2"}};
  Evaluation large =
      plan({AxisRole::Model, std::nullopt, {3}, false, false}, 0.5, 1512);
  large.largest = {{"logits", 1024}};
  Evaluation illegal = plan({AxisRole::Model, 0, {3}, false, false}, 0, 0);
  illegal.refusal = "axis @a does not divide";
  result.evaluations = {best, slower, large, illegal};
  return result;
}

static Matrix matrixOf(const SearchResult &result, size_t rows) {
  MatrixOptions options;
  options.memoryLimit = 1000;
  options.rows = rows;
  options.tokens = 64;
  options.devices = 4;
  options.modelFlops = 400;
  options.peakFlops = 200;
  std::vector<Candidate> notable = {result.evaluations[2].candidate,
                                    result.evaluations[3].candidate};
  return makeMatrix(result, notable, mlp(4, 4, 8, 8), options);
}

TEST(Matrix, Reasons) {
  SearchResult result = fourPlans();
  Matrix matrix = matrixOf(result, 10);
  ASSERT_EQ(matrix.rows.size(), 4u);
  EXPECT_EQ(matrix.rows[0].rank, 1);
  EXPECT_EQ(matrix.rows[0].reason, "");
  EXPECT_EQ(matrix.rows[0].tokensPerSecond, 64);
  EXPECT_EQ(matrix.rows[0].modelUtilisation, 0.5);
  EXPECT_EQ(matrix.margin, 100);
  EXPECT_EQ(matrix.rows[1].reason,
            "slower by 500 ms: all_gather over a (w1, ...) +400 ms; plan 1 "
            "needs no more memory");
  EXPECT_EQ(matrix.rows[2].rank, 0);
  EXPECT_EQ(matrix.rows[2].reason, "over by 512 B: logits 1.0 KiB");
  EXPECT_EQ(matrix.rows[3].reason, "illegal: axis @a does not divide");
}

// Parts with other names are no reason if both plans take the same time.
TEST(Matrix, AsFast) {
  SearchResult result = fourPlans();
  result.evaluations[1].seconds = result.evaluations[0].seconds;
  EXPECT_EQ(matrixOf(result, 10).rows[1].reason,
            "as fast as plan 1; plan 1 needs no more memory");
}

// Time is up before the best plan is overlapped.
TEST(Matrix, WithoutOverlap) {
  SearchResult result = fourPlans();
  EXPECT_THAT(toText(matrixOf(result, 10)),
              Not(HasSubstr("plan 1 is without overlap")));
  result.evaluations[0].isSerial = true;
  EXPECT_THAT(toText(matrixOf(result, 10)),
              HasSubstr("plan 1 is without overlap"));
  EXPECT_THAT(toJson(matrixOf(result, 10)), HasSubstr("\"serial\": true"));
}

// Plans that composed figures cannot distinguish from the best are called ties,
// in the table, in the sentence, and in JSON.
TEST(Matrix, Ties) {
  SearchResult result = fourPlans();
  result.evaluations[1].isComposed = true;
  result.evaluations[1].error.lessTime = 0.4;
  Matrix matrix = matrixOf(result, 10);
  EXPECT_EQ(matrix.ties, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(matrix.rows[1].reason,
            "as fast as plan 1 within the error of ±40.0 %: 500 ms more");
  EXPECT_THAT(toText(matrix),
              HasSubstr("plans 1 and 2 are within the error of ±40.0 %: any of "
                        "them may be the fastest"));
  EXPECT_THAT(toJson(matrix),
              AllOf(HasSubstr("\"error\": 0.4"), HasSubstr("\"tied\": true")));
  // 1.5 s less 30 % are more than 1 s.
  result.evaluations[1].error.lessTime = 0.3;
  matrix = matrixOf(result, 10);
  EXPECT_THAT(matrix.ties, testing::IsEmpty());
  EXPECT_THAT(toText(matrix), Not(HasSubstr("within the error")));
  // A composed best plan may take longer than its figure.
  result.evaluations[0].isComposed = true;
  result.evaluations[0].error.moreTime = 0.1;
  EXPECT_EQ(matrixOf(result, 10).ties, (std::vector<int64_t>{1, 2}));
}

// "No plan is faster" is said only if it is true, and only about the plans that
// were searched.
TEST(Matrix, TheClaimNamesTheSpace) {
  SearchResult result = fourPlans();
  Matrix matrix = matrixOf(result, 10);
  SearchedSpace &space = matrix.options.space;
  space.settings = {{1, "none"}, {2, "none"}, {4, "none"}, {1, "full"}};
  auto claim = [&](double gap) {
    result.state.gap = gap;
    return claimText(matrix);
  };
  EXPECT_THAT(claim(0),
              AllOf(HasSubstr("gap 0: no plan with at most 3 axes and 1, 2 or "
                              "4 micro-batches is faster\n"),
                    HasSubstr("the space: at most 3 axes; the fewest that fit "
                              "of 1, 2 or 4 micro-batches; the least that fits "
                              "of no or full rematerialisation\n")));
  EXPECT_THAT(claim(0.021),
              HasSubstr("gap 2.1 %: no plan with at most 3 axes and 1, 2 or 4 "
                        "micro-batches can be faster by more; give more time"));
  EXPECT_THAT(claim(1e-5), HasSubstr("gap below 0.1 %: no plan with"));
  space.settings = {
      {1, "none"}, {1, "full:4"}, {1, "full:8"}, {1, "full:12"}, {1, "full"}};
  EXPECT_THAT(claim(0), HasSubstr("the least that fits of no, 4 to 12 layers' "
                                  "or full rematerialisation\n"));
  space.settings = {{1, "full:8"}};
  EXPECT_THAT(claim(0), HasSubstr("; 8 layers' rematerialisation\n"));
  space.maxAxes = 1;
  space.settings = {{1, "none"}};
  space.stageSettings = {{8, "none", "1f1b", 1}, {4, "none", "1f1b", 2}};
  space.pins = {"b@dp=2"};
  EXPECT_THAT(
      claim(0),
      AllOf(HasSubstr("no plan with at most 1 axis and no micro-batches "
                      "(with stages 4 to 8) and b@dp=2 is faster\n"),
            HasSubstr("the space: at most 1 axis; no micro-batches; no "
                      "rematerialisation; 1f1b stages of 4 to 8 "
                      "micro-batches and 1 to 2 chunks; b@dp=2\n")));
  EXPECT_THAT(toJson(matrix), HasSubstr("\"max_axes\": 1"));
}

TEST(Matrix, OneDevice) {
  SearchResult result = fourPlans();
  Matrix matrix = matrixOf(result, 10);
  matrix.options.devices = 1;
  EXPECT_THAT(toText(matrix), HasSubstr(" on 1 device of "));
}

// Notable plans are shown besides the rows; others are not.
TEST(Matrix, Rows) {
  SearchResult result = fourPlans();
  EXPECT_EQ(matrixOf(result, 1).rows.size(), 3u);
}

TEST(Matrix, TextAndJson) {
  SearchResult result = fourPlans();
  Matrix matrix = matrixOf(result, 10);
  std::string text = toText(matrix);
  EXPECT_THAT(text, HasSubstr("why not first"));
  EXPECT_THAT(text, HasSubstr("Memory of plan 1, per rank, of 1000 B"));
  std::string json = toJson(matrix);
  EXPECT_THAT(json, HasSubstr("\"format\": \"tpsp-plan-1\""));
  EXPECT_THAT(json, HasSubstr("\"reason\": \"over by 512 B: logits 1.0 KiB\""));
}

// If nothing is legal, memory is not given as the reason, however few plans
// were evaluated.
TEST(Matrix, NothingIsLegal) {
  SearchResult result = fourPlans();
  result.evaluations.erase(result.evaluations.begin(),
                           result.evaluations.begin() + 3);
  result.illegal = 1;
  for (double gap : {0.0, 1.0}) {
    result.state.gap = gap;
    std::vector<Candidate> none;
    Matrix matrix = makeMatrix(result, none, mlp(4, 4, 8, 8), {});
    EXPECT_THAT(nothingFits(matrix),
                AllOf(HasSubstr("legal; the table says why"),
                      Not(HasSubstr("fits into"))));
  }
}

// If the plan nearest to fitting was not compiled, the text says how much any
// plan takes at least.
TEST(Matrix, TheNearestOfThoseCompiled) {
  SearchResult result = fourPlans();
  result.evaluations.erase(result.evaluations.begin(),
                           result.evaluations.begin() + 2);
  result.state.gap = 0;
  result.leastTooLarge = 1100;
  EXPECT_THAT(nothingFits(matrixOf(result, 10)),
              HasSubstr("the nearest needs 1.5 KiB of those compiled, and each "
                        "at least 1.1 KiB;"));
}

// A time without a lower bound is not shown, and a table without rows says so.
TEST(Matrix, NothingToShow) {
  SearchResult result;
  result.evaluations = {plan({AxisRole::Data, 0, {}, false, false}, 0, 2000)};
  result.evaluations[0].isBound = true;
  EXPECT_THAT(toText(makeMatrix(result, {}, mlp(4, 4, 8, 8), {})),
              AllOf(HasSubstr("why not first"), Not(HasSubstr(">= 0"))));
  result.evaluations.clear();
  EXPECT_THAT(toText(makeMatrix(result, {}, mlp(4, 4, 8, 8), {})),
              AllOf(HasSubstr("no plan was compiled"),
                    Not(HasSubstr("why not first"))));
}

TEST(Matrix, NothingFits) {
  SearchResult result = fourPlans();
  result.state.gap = 0;
  result.evaluations.erase(result.evaluations.begin(),
                           result.evaluations.begin() + 2);
  EXPECT_THAT(nothingFits(matrixOf(result, 10)),
              HasSubstr("the nearest needs 1.5 KiB;"));
  result.evaluations.clear();
  result.leastTooLarge = 4096;
  Matrix matrix;
  matrix.result = &result;
  EXPECT_THAT(nothingFits(matrix), HasSubstr("at least 4.0 KiB;"));
  matrix.options.devices = 1;
  EXPECT_THAT(nothingFits(matrix),
              HasSubstr("on 1 device; each needs at least 4.0 KiB; more "
                        "devices, "));
  // More ranks on a CPU do not bring more memory.
  matrix.options.sharesMemory = true;
  EXPECT_THAT(nothingFits(matrix),
              AllOf(HasSubstr("share the machine's memory; a larger"),
                    Not(HasSubstr("more devices"))));
  // Plans that were not evaluated may fit.
  result.state.gap = 1;
  result.state.seconds = 2;
  EXPECT_THAT(nothingFits(matrix),
              HasSubstr("was found in 2.0 s; more --seconds"));
  // Calibrated bytes say nothing about plans that were not compiled.
  matrix.options.calibration = "Calibrated by 2 runs\n";
  EXPECT_THAT(nothingFits(matrix),
              AllOf(HasSubstr("no compiled plan fits as calibrated; plan again "
                              "with --memory divided by"),
                    Not(HasSubstr("no plan"))));
  EXPECT_THAT(toJson(matrix),
              AllOf(HasSubstr("\"gap\": null"),
                    HasSubstr("\"calibration\": \"Calibrated by 2 runs")));
}
