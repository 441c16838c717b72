/// The trace for viewers has events, arrows and counters, and is valid JSON.
#include "tpsp/Runtime/Driver/Pictures/ChromeTrace.h"

#include "TestTrace.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tpsp;
using namespace tpsp::rt;
using nlohmann::json;

namespace {

/// Returns the events of one phase.
std::vector<json> eventsOf(const StepTrace &trace, const char *phase) {
  json parsed = json::parse(toChromeJson(trace), nullptr, false);
  EXPECT_FALSE(parsed.is_discarded());
  std::vector<json> events;
  for (const json &event : parsed["traceEvents"])
    if (event["ph"] == phase)
      events.push_back(event);
  return events;
}

TEST(ChromeTrace, HasAnArrowForAResultThatChangesStreams) {
  TestTrace test(2);
  int64_t norm = test.compute(0, 1);
  int64_t gather = test.collective(1, 1, 3);
  int64_t matmul = test.compute(3, 4), next = test.compute(4, 5);
  test.reads(gather, {norm});
  test.reads(matmul, {norm, gather});
  test.reads(next, {matmul});
  std::vector<json> starts = eventsOf(test.trace, "s");
  std::vector<json> ends = eventsOf(test.trace, "f");
  // Each rank has two arrows: to the gather, and from it.
  ASSERT_EQ(starts.size(), 4u);
  ASSERT_EQ(ends.size(), 4u);
  std::set<int64_t> ids;
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(starts[i]["id"], ends[i]["id"]);
    EXPECT_EQ(starts[i]["pid"], ends[i]["pid"]);
    ids.insert(starts[i]["id"].get<int64_t>());
  }
  EXPECT_EQ(ids.size(), 4u);
  EXPECT_EQ(starts[1]["tid"], 1);
  EXPECT_EQ(ends[1]["tid"], 0);
  // An arrow begins and ends within the events that it joins.
  EXPECT_GT(starts[1]["ts"], 1e6);
  EXPECT_LT(starts[1]["ts"], 3e6);
  EXPECT_EQ(ends[1]["ts"], 3e6);
}

TEST(ChromeTrace, HasCounters) {
  TestTrace test;
  test.trace.ranks[0].memory = {{0, 5}, {2e-6, 7}};
  test.trace.ranks[0].sending = {{1e-6, 100}};
  std::vector<json> counters = eventsOf(test.trace, "C");
  ASSERT_EQ(counters.size(), 3u);
  EXPECT_EQ(counters[1]["name"], "memory in use");
  EXPECT_EQ(counters[1]["ts"], 2);
  EXPECT_EQ(counters[1]["args"]["bytes"], 7);
  EXPECT_EQ(counters[2]["args"]["bytes per second"], 100);
}

TEST(ChromeTrace, SaysWhatACollectiveIs) {
  TestTrace test;
  test.collective(1, 0, 1);
  test.plan->ledger[0].axes = {"tp"};
  test.plan->ledger[0].reason = "because \xff";
  std::vector<json> events = eventsOf(test.trace, "X");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["cat"], "collective");
  EXPECT_EQ(events[0]["args"]["axes"], json({"tp"}));
  EXPECT_EQ(events[0]["args"]["bytes"], 1000);
}

} // namespace
