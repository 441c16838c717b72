// Pages for browsers: their contents, for names of any characters, and the
// parts of long steps and lists that they leave out.
#include "tpsp/Runtime/Driver/Page/Page.h"

#include "Runtime/Driver/Page/PageJson.h"
#include "TestTrace.h"

#include "tpsp/Abi/Exposure.h"

#include <gmock/gmock.h>

#include <random>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;
using Json = nlohmann::ordered_json;

static size_t countOf(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++count;
  return count;
}

/// Returns the data of a page, as a browser reads it.
static Json dataOf(const std::string &page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  size_t from = page.find(begin) + begin.size();
  return Json::parse(page.substr(from, page.find("</script", from) - from),
                     nullptr, /*allow_exceptions=*/false);
}

/// Returns the trace of a step whose commands have no recorded times.
static StepTrace emptyTrace() {
  StepTrace trace;
  trace.plan = std::make_shared<Plan>();
  return trace;
}

TEST(Page, NothingInTheDataEndsItsElement) {
  Json json = {{"name", "</script><script>alert(1)</script><!-- <b>"}};
  std::string page = fillPage("<i>TPSP_PAGE_DATA</i>", json.dump());
  EXPECT_EQ(countOf(page, "<"), 2u);
  std::string data = page.substr(3, page.size() - 7);
  EXPECT_EQ(Json::parse(data), json);
}

TEST(Page, DataThatHasTheMarkerStaysAsItIs) {
  Json json = {{"TPSP_PAGE_DATA", "TPSP_PAGE_DATA"}};
  EXPECT_EQ(fillPage("aTPSP_PAGE_DATAb", json.dump()), "a" + json.dump() + "b");
}

TEST(Page, NamesOfAnyBytesLeaveThePageWellFormed) {
  std::string empty = toPage("", {});
  EXPECT_EQ(countOf(empty, "TPSP_PAGE"), 0u);
  for (const char *name :
       {"</script>", "<!--<script>", "\xff\xfe", "\"\\", "\xe2\x80\xa8"}) {
    TestTrace test;
    test.plan->commands[test.compute(0, 1)].value = name;
    test.trace.title = name;
    PageStep step{Json({{"program", "p"}}).dump(), test.trace, name};
    std::string page = toPage(Json({{"program", "p"}}).dump(), {step, step});
    EXPECT_EQ(countOf(page, "<"), countOf(empty, "<")) << name;
    Json data = dataOf(page);
    ASSERT_TRUE(data.is_object()) << name;
    EXPECT_EQ(data["steps"].size(), 2u);
  }
}

TEST(Page, FetchesNothing) {
  std::string page = toPage("", {});
  for (const char *way : {"src=", "@import", "fetch(", "XMLHttp",
                          "https:", "<link rel=\"stylesheet"})
    EXPECT_EQ(countOf(page, way), 0u) << way;
  // The page refers only to its own patterns. SVG's namespace is no address.
  EXPECT_EQ(countOf(page, "url("), countOf(page, "url(#"));
  EXPECT_EQ(countOf(page, "http:"),
            countOf(page, "'http://www.w3.org/2000/svg"));
}

TEST(Page, HasTheMatrixAndTheReportAsTheyAre) {
  Json matrix = {{"plans", {{{"seconds", 0.1}, {"name", "TP 4"}}}}, {"z", 1}};
  Json report = {{"b", {1, 2}}, {"a", nullptr}};
  Json data = dataOf(
      toPage(matrix.dump(2), {{report.dump(2), emptyTrace(), "x = y\n", 0}}));
  EXPECT_EQ(data["matrix"].dump(), matrix.dump());
  EXPECT_EQ(data["steps"][0]["report"].dump(), report.dump());
  EXPECT_EQ(data["steps"][0]["explanation"], "x = y\n");
  EXPECT_EQ(data["steps"][0]["plan"], 0);
  EXPECT_TRUE(data["steps"][0]["step"].is_null());
  EXPECT_TRUE(data["steps"][0]["cut"].empty());
}

TEST(Page, LongListsAndTextsAreCutAndThatIsSaid) {
  Json report = {{"rows", std::vector<int>(3001)},
                 {"in", {{"more", std::vector<int>(2501)}}},
                 {"few", std::vector<int>(2500)}};
  std::string line(99, 'x'), text;
  for (int i = 0; i < 5000; ++i)
    text += line + "\n";
  Json step =
      dataOf(toPage("", {{report.dump(), emptyTrace(), text}}))["steps"][0];
  EXPECT_EQ(step["report"]["rows"].size(), 2500u);
  EXPECT_EQ(step["report"]["in"]["more"].size(), 2500u);
  EXPECT_EQ(step["report"]["few"].size(), 2500u);
  EXPECT_EQ(
      step["cut"],
      Json({{"rows", 3001}, {"more", 2501}, {"explanation", text.size()}}));
  std::string kept = step["explanation"];
  EXPECT_EQ(kept.size(), 400'000u);
  EXPECT_EQ(kept.back(), '\n');
}

/// Returns begin and end of every span in the page, by stream.
static std::vector<std::tuple<int64_t, int64_t, int64_t>>
spansOf(const Json &rank) {
  std::vector<std::tuple<int64_t, int64_t, int64_t>> spans;
  for (const Json &stream : rank["streams"])
    for (size_t i = 0; i < stream["spans"].size(); i += 3)
      spans.emplace_back(stream["stream"], stream["spans"][i + 1],
                         stream["spans"][i + 2]);
  return spans;
}

TEST(PageStep, HasTheCommandsWithWhatTheyDid) {
  TestTrace test;
  int64_t product = test.compute(0, 2e-6);
  PlanCommand &command = test.plan->commands[product];
  command.kind = CommandKind::Matmul;
  command.call = "matmul";
  command.value = "q";
  command.location = "m.mlir:3:1";
  command.phase = 1;
  command.matmul = {3, 5, 7};
  test.event(1, 0, 1e-6);
  int64_t gather = test.collective(1, 1e-6, 5e-6);
  test.plan->commands[gather].collective.bytesSent = 1000;
  Json step = pageStep(test.trace);
  EXPECT_EQ(step["nanoseconds"], 5000);
  const Json &words = step["words"];
  auto wordsOf = [&](size_t number) {
    const Json &row = step["commands"][number];
    return std::vector<std::string>{words[row[0].get<size_t>()],
                                    words[row[1].get<size_t>()],
                                    words[row[2].get<size_t>()]};
  };
  ASSERT_EQ(step["commands"].size(), 2u) << "an event is none";
  EXPECT_THAT(wordsOf(0),
              testing::ElementsAre("matmul", "matmul q", "m.mlir:3:1"));
  EXPECT_EQ(step["commands"][0][3], 1);
  EXPECT_EQ(step["commands"][0][4], -1);
  EXPECT_EQ(step["commands"][0][5], 2 * 3 * 5 * 7);
  EXPECT_EQ(wordsOf(1)[0], "all_reduce");
  EXPECT_EQ(step["commands"][1][4], 0);
  EXPECT_EQ(step["commands"][1][6], 1000);
  EXPECT_THAT(
      spansOf(step["ranks"][0]),
      testing::ElementsAre(std::tuple(0, 0, 2000), std::tuple(1, 1000, 5000)));
}

TEST(PageStep, WhatIsExposedAddsUpToTheExposure) {
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed() + 1);
  std::uniform_int_distribution<int> length(1, 50);
  TestTrace test;
  for (int stream = 0; stream < 3; ++stream)
    for (int64_t at = 0, end = 0; at < 2000; at = end + length(random)) {
      end = at + length(random);
      if (stream == 0)
        test.compute(1e-9 * double(at), 1e-9 * double(end));
      else
        test.collective(stream, 1e-9 * double(at), 1e-9 * double(end));
    }
  Json exposed = pageStep(test.trace)["ranks"][0]["exposed"];
  // A nanosecond with communication on two streams counts once.
  std::set<int64_t> moments;
  for (size_t i = 0; i < exposed.size(); i += 3)
    for (int64_t at = exposed[i + 1]; at < exposed[i + 2]; ++at)
      moments.insert(at);
  double expected = exposureOf(*test.plan, test.trace.ranks).exposed;
  EXPECT_GT(expected, 0);
  EXPECT_NEAR(1e-9 * double(moments.size()), expected, 1e-12);
}

TEST(PageStep, OfALongStepTheLongestCommandsAreKept) {
  constexpr int64_t all = 7001;
  std::mt19937 random(7);
  std::vector<int64_t> lengths(all);
  for (int64_t i = 0; i < all; ++i)
    lengths[i] = i + 1;
  std::shuffle(lengths.begin(), lengths.end(), random);
  TestTrace test;
  int64_t at = 0, left = 0;
  for (int64_t length : lengths) {
    test.compute(1e-9 * double(at), 1e-9 * double(at + length));
    at += length;
    left += length <= all - int64_t(mostPageCommands) ? length : 0;
  }
  Json step = pageStep(test.trace);
  EXPECT_EQ(step["left_out"]["commands"], all - int64_t(mostPageCommands));
  EXPECT_EQ(step["left_out"]["nanoseconds"], left);
  EXPECT_EQ(step["commands"].size(), mostPageCommands);
  int64_t last = -1;
  for (auto [stream, begin, end] : spansOf(step["ranks"][0])) {
    EXPECT_GT(end - begin, all - int64_t(mostPageCommands));
    EXPECT_GT(begin, last) << "in order of time";
    last = begin;
  }
}

TEST(PageStep, TheLegendHasEachKindAndWhatIsMarked) {
  TestTrace test(2);
  test.compute(0, 2e-6);
  test.collective(1, 1e-6, 3e-6);
  Json legend = pageStep(test.trace)["legend"], looks = pageLooks();
  ASSERT_EQ(legend.size(), 3u);
  EXPECT_EQ(legend[2][0], "exposed");
  for (size_t i : {0, 1}) {
    std::string kind = legend[i][0];
    EXPECT_EQ(kind, i == 0 ? "all_reduce" : "kernel");
    EXPECT_THAT(legend[i][1].get<std::string>(), testing::EndsWith("2.00 µs"));
    std::string pattern = looks["kinds"][kind]["pattern"];
    EXPECT_TRUE(looks["patterns"].contains(pattern)) << pattern;
  }
}

TEST(PageStep, RanksThatDidTheSameAreOne) {
  TestTrace test(3);
  test.compute(0, 1e-6);
  Json ranks = pageStep(test.trace)["ranks"];
  ASSERT_EQ(ranks.size(), 1u);
  EXPECT_EQ(ranks[0]["alike"], 3);
  EXPECT_EQ(ranks[0]["name"], "ranks 0 to 2");
  test.trace.ranks[1].streams[0][0].end = 2e-6;
  ranks = pageStep(test.trace)["ranks"];
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0]["alike"], 2);
  EXPECT_EQ(ranks[0]["name"], "ranks 0, 2");
  EXPECT_EQ(ranks[1]["name"], "rank 1");
  test.trace.ranks.clear();
  EXPECT_TRUE(pageStep(test.trace).is_null());
}

TEST(PageStep, TheCurveKeepsItsPeak) {
  TestTrace test;
  int64_t last = 0;
  for (int i = 0; i < 9000; ++i)
    last = test.compute(1e-9 * i, 1e-9 * (i + 1));
  addBuffer(*test.plan, 100, true, {});
  addBuffer(*test.plan, 5000, false, {4711}, "w");
  addBuffer(*test.plan, 10, false, {last});
  fillCounters(test.trace);
  // All samples differ from their neighbours.
  for (int i = 1; i < 9000; ++i)
    test.trace.ranks[0].memory.push_back({1e-9 * i, 100.0 + i % 7});
  std::sort(test.trace.ranks[0].memory.begin(),
            test.trace.ranks[0].memory.end(),
            [](const TraceSample &a, const TraceSample &b) {
              return a.seconds < b.seconds;
            });
  Json rank = pageStep(test.trace)["ranks"][0];
  EXPECT_LE(rank["memory"].size() / 2, 1502u);
  int64_t most = 0;
  for (size_t i = 1; i < rank["memory"].size(); i += 2)
    most = std::max<int64_t>(most, rank["memory"][i]);
  EXPECT_EQ(most, 5100);
  EXPECT_EQ(rank["peak"]["bytes"], 5100);
  EXPECT_EQ(rank["peak"]["nanoseconds"], 4711);
  EXPECT_EQ(rank["peak"]["largest"][0]["name"], "w");
}
