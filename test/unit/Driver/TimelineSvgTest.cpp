/// The picture's contents, for any names and any number of commands. A parser
/// checks in test/Execution/timeline.mlir that it is well-formed.
#include "tpsp/Runtime/Driver/Pictures/TimelineSvg.h"

#include "Runtime/Driver/Page/PageJson.h"
#include "TestTrace.h"

#include <gmock/gmock.h>

#include <random>

using namespace tpsp;
using namespace tpsp::rt;
using testing::HasSubstr;
using testing::Not;

namespace {

size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + part.size()))
    ++count;
  return count;
}

TEST(TimelineSvg, SaysHowMuchOfACollectiveIsExposed) {
  TestTrace test;
  test.compute(0, 1);
  test.collective(1, 0, 3);
  std::string svg = toSvg(test.trace, "the summary");
  EXPECT_THAT(svg, HasSubstr("command 1, 3.00 s (exposed 2.00 s)"));
  EXPECT_THAT(svg, HasSubstr("command 0, 1.00 s<"));
  // The collective, then the exposed part above it.
  EXPECT_EQ(countOf(svg, "fill='url(#kind-all_reduce)'"), 2u)
      << "in the legend and the lane";
  EXPECT_EQ(countOf(svg, "fill='url(#exposed)'"), 2u);
  EXPECT_THAT(svg, HasSubstr("the summary"));
  EXPECT_THAT(svg, HasSubstr("rank 0"));
}

TEST(TimelineSvg, ShowsWhatThePageShows) {
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed() + 1);
  for (int i = 0; i < 20; ++i) {
    TestTrace test;
    double at[3] = {};
    for (int n = 1 + int(random() % 9); n > 0; --n) {
      size_t stream = random() % 3;
      double begin = at[stream] + double(random() % 3);
      at[stream] = begin + 1 + double(random() % 50);
      if (stream == 0)
        test.compute(begin, at[stream]);
      else
        test.collective(stream, begin, at[stream]);
    }
    std::string svg = toSvg(test.trace, "");
    nlohmann::ordered_json step = pageStep(test.trace);
    for (const auto &row : step["legend"])
      EXPECT_THAT(svg, HasSubstr(">" + row[1].get<std::string>() + "</text>"));
    for (const auto &rank : step["ranks"])
      for (const auto &lane : rank["streams"])
        if (rank["streams"].size() > 1)
          EXPECT_THAT(svg, HasSubstr(">" + lane["name"].get<std::string>() +
                                     "</text>"));
  }
}

TEST(TimelineSvg, LeavesOutWaitsAndEmptyStreams) {
  TestTrace test;
  test.compute(0, 1);
  test.event(1, 0, 1);
  std::string svg = toSvg(test.trace, "");
  EXPECT_THAT(svg, Not(HasSubstr("command 1")));
  EXPECT_THAT(svg, Not(HasSubstr("comm. 2")));
}

TEST(TimelineSvg, EscapesNames) {
  TestTrace test;
  int64_t id = test.compute(0, 1);
  test.plan->commands[id].call = "<&\"'>\xff\x01";
  test.trace.title = "a<b";
  std::string svg = toSvg(test.trace, "");
  EXPECT_THAT(svg, HasSubstr("&lt;&amp;&quot;&#39;&gt;\xEF\xBF\xBD"));
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, Not(HasSubstr("\xff")));
  EXPECT_THAT(svg, Not(HasSubstr("\x01")));
}

TEST(TimelineSvg, HasAMemoryCurveWhereMemoryIsKnown) {
  TestTrace test(2);
  test.compute(0, 1);
  EXPECT_THAT(toSvg(test.trace, ""), Not(HasSubstr("memory in use")));
  test.trace.ranks[0].memory = {{0, 100}};
  test.trace.ranks[1].memory = {{0, 100}, {0.5, 3 * 1024}};
  test.plan->arenaBytes = 4096;
  std::string svg = toSvg(test.trace, "");
  EXPECT_THAT(svg, HasSubstr("memory in use"));
  EXPECT_THAT(svg, HasSubstr("peak 3.0 KiB"));
  EXPECT_THAT(svg, HasSubstr("arena 4.0 KiB"));
}

TEST(TimelineSvg, OfManyCommandsIsNoLargerThanItsPixels) {
  TestTrace test;
  for (int i = 0; i < 100000; ++i) {
    test.compute(2 * i, 2 * i + 1);
    test.collective(1, 2 * i, 2 * i + 2);
  }
  std::string svg = toSvg(test.trace, "");
  EXPECT_LT(svg.size(), 200000u);
  EXPECT_LT(countOf(svg, "<title>"), 100u);
}

TEST(TimelineSvg, OfNothingIsAPicture) {
  EXPECT_THAT(toSvg(StepTrace(), "nothing"), HasSubstr("</svg>"));
  TestTrace test;
  test.compute(0, 0);
  EXPECT_THAT(toSvg(test.trace, ""), HasSubstr("</svg>"));
}

} // namespace
