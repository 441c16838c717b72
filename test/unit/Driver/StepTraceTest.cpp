/// Curves of memory and sending, computed from spans.
#include "tpsp/Abi/StepTrace.h"

#include "tpsp/Abi/MemoryUse.h"

#include "TestTrace.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

using Points = std::vector<std::pair<double, double>>;

Points pointsOf(const std::vector<TraceSample> &samples) {
  Points points;
  for (const TraceSample &sample : samples)
    points.push_back({sample.seconds, sample.value});
  return points;
}

std::vector<TraceSample> memoryOf(const TestTrace &test) {
  return memoryUse(*test.plan, test.trace.ranks[0]).curve;
}

TEST(StepTrace, MemoryIsInUseFromTheFirstToTheLastUser) {
  TestTrace test;
  int64_t gather = test.collective(1, 0, 4);
  int64_t first = test.compute(1, 2), last = test.compute(3, 5);
  addBuffer(*test.plan, 100, true, {first});
  addBuffer(*test.plan, 10, false, {first, last});
  addBuffer(*test.plan, 1, false, {gather});
  addBuffer(*test.plan, 7, false, {});
  EXPECT_EQ(pointsOf(memoryOf(test)),
            (Points{{0, 101}, {1, 111}, {4, 110}, {5, 100}}));
  EXPECT_TRUE(memoryOf(TestTrace()).empty());
}

TEST(StepTrace, WhatEndsMakesRoomForWhatBegins) {
  TestTrace test;
  int64_t first = test.compute(0, 1), second = test.compute(1, 2);
  addBuffer(*test.plan, 10, false, {first});
  addBuffer(*test.plan, 10, false, {second});
  for (auto [seconds, bytes] : pointsOf(memoryOf(test)))
    EXPECT_LE(bytes, 10) << seconds;
}

TEST(StepTrace, SendingIsEvenOverACollective) {
  TestTrace test;
  test.collective(1, 0, 2);
  test.collective(1, 2, 3, /*goesOn=*/true);
  test.collective(2, 1, 5);
  // Each part of the first collective sends 500 bytes, the second 1000.
  EXPECT_EQ(pointsOf(averageSending(*test.plan, test.trace.ranks[0])),
            (Points{{0, 250}, {1, 500}, {2, 750}, {3, 250}, {5, 0}}));
}

TEST(StepTrace, CountersThatAreKnownAreKept) {
  TestTrace test;
  test.collective(1, 0, 2);
  test.trace.ranks[0].sending = {{0, 42}};
  fillCounters(test.trace);
  EXPECT_EQ(test.trace.ranks[0].sending.size(), 1u);
}

TEST(StepTrace, OfAPlanHasItsRanks) {
  Plan plan;
  plan.mesh = {{"dp", 2}, {"tp", 2}};
  StepTrace trace = emptyTrace(std::make_shared<Plan>(plan));
  ASSERT_EQ(trace.ranks.size(), 4u);
  EXPECT_EQ(trace.ranks[3].name, "rank 3: dp=1 tp=1");
  EXPECT_EQ(trace.seconds(), 0);
}

} // namespace
