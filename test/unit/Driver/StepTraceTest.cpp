/// Curves made from spans.
#include "tpsp/Runtime/Driver/StepTrace.h"

#include "TestTrace.h"

#include <gtest/gtest.h>

using namespace tpsp::rt;

namespace {

using Points = std::vector<std::pair<double, double>>;

Points pointsOf(const std::vector<TraceSample> &samples) {
  Points points;
  for (const TraceSample &sample : samples)
    points.push_back({sample.seconds, sample.value});
  return points;
}

TEST(StepTrace, MemoryIsInUseFromTheFirstToTheLastUser) {
  TestTrace test;
  int64_t gather = test.collective(1, 0, 4);
  int64_t first = test.compute(1, 2), last = test.compute(3, 5);
  test.trace.buffers = {{100, true, {first}, "", ""},
                        {10, false, {first, last}, "", ""},
                        {1, false, {gather}, "", ""},
                        {7, false, {}, "", ""}};
  EXPECT_EQ(pointsOf(memoryInUse(test.trace, 0)),
            (Points{{0, 101}, {1, 111}, {4, 110}, {5, 100}}));
  EXPECT_TRUE(memoryInUse(TestTrace().trace, 0).empty());
}

TEST(StepTrace, WhatEndsMakesRoomForWhatBegins) {
  TestTrace test;
  int64_t first = test.compute(0, 1), second = test.compute(1, 2);
  test.trace.buffers = {{10, false, {first}, "", ""},
                        {10, false, {second}, "", ""}};
  for (auto [seconds, bytes] : pointsOf(memoryInUse(test.trace, 0)))
    EXPECT_LE(bytes, 10) << seconds;
}

TEST(StepTrace, SendingIsEvenOverACollective) {
  TestTrace test;
  test.collective(1, 0, 2);
  test.collective(1, 2, 3, /*goesOn=*/true);
  test.collective(2, 1, 5);
  // 500 bytes in each part of the first; 1000 in the second.
  EXPECT_EQ(pointsOf(averageSending(test.trace, 0)),
            (Points{{0, 250}, {1, 500}, {2, 750}, {3, 250}, {5, 0}}));
}

TEST(StepTrace, CountersThatAreKnownAreKept) {
  TestTrace test;
  test.collective(1, 0, 2);
  test.trace.ranks[0].sending = {{0, 42}};
  fillCounters(test.trace);
  EXPECT_EQ(test.trace.ranks[0].sending.size(), 1u);
}

TEST(StepTrace, OfAProgramHasItsRanksAndCollectives) {
  Manifest manifest;
  manifest.mesh = {{"dp", 2}, {"tp", 2}};
  manifest.commands = 3;
  manifest.collectives.resize(1);
  manifest.collectives[0].commands = {1, 2, 9}; // one is none of the program's
  StepTrace trace = emptyTrace(manifest);
  ASSERT_EQ(trace.ranks.size(), 4u);
  EXPECT_EQ(trace.ranks[3].name, "rank 3: dp=1 tp=1");
  EXPECT_EQ(trace.commands[0].kind, TraceCommand::Kind::Compute);
  EXPECT_EQ(trace.commands[2].collective, 0);
  EXPECT_EQ(trace.seconds(), 0);
}

} // namespace
