/// Exposed communication of a step, by hand and against a count of every
/// moment.
#include "tpsp/Abi/Exposure.h"
#include "tpsp/Runtime/Driver/Report/StepText.h"

#include "TestTrace.h"

#include <gtest/gtest.h>

#include <random>

using namespace tpsp;
using namespace tpsp::rt;

namespace {

TEST(Exposure, OfAStepWithoutOverlapIsAll) {
  TestTrace test;
  test.compute(0, 1);
  test.collective(0, 1, 3);
  test.compute(3, 4);
  test.collective(0, 4, 4.5);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_DOUBLE_EQ(exposure.communication, 2.5);
  EXPECT_DOUBLE_EQ(exposure.exposed, 2.5);
  EXPECT_DOUBLE_EQ(exposure.hiddenShare(), 0);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].exposed, 2);
  EXPECT_DOUBLE_EQ(exposure.collectives[1].seconds, 0.5);
  EXPECT_EQ(exposure.collectives[0].hiddenUnder, -1);
}

TEST(Exposure, SplitsACollectiveWhereTheComputeStreamIsIdle) {
  TestTrace test;
  test.compute(1, 2);
  int64_t longest = test.compute(2, 5);
  test.compute(6, 7);
  test.collective(1, 0, 7);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_DOUBLE_EQ(exposure.communication, 7);
  EXPECT_DOUBLE_EQ(exposure.exposed, 2);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].exposed, 2);
  EXPECT_EQ(exposure.collectives[0].hiddenUnder, longest);

  std::vector<CommunicationPiece> pieces =
      communicationPieces(*test.plan, test.trace.ranks[0]);
  ASSERT_EQ(pieces.size(), 5u);
  EXPECT_TRUE(pieces[0].isExposed());
  EXPECT_EQ(pieces[2].under, longest);
  EXPECT_DOUBLE_EQ(pieces[3].begin, 5);
  EXPECT_DOUBLE_EQ(pieces[3].end, 6);
  EXPECT_TRUE(pieces[3].isExposed());
}

TEST(Exposure, HidesNothingUnderEventsAndOtherCollectives) {
  TestTrace test;
  test.event(0, 0, 4); // the compute stream waits
  test.collective(1, 0, 2);
  test.collective(0, 4, 5);
  test.collective(1, 4, 6);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_DOUBLE_EQ(exposure.communication, 4);
  EXPECT_DOUBLE_EQ(exposure.exposed, 4);
}

TEST(Exposure, IsSharedByCollectivesThatRunAtOnce) {
  TestTrace test;
  test.compute(2, 4);
  test.collective(1, 0, 3);
  test.collective(2, 1, 4);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_DOUBLE_EQ(exposure.communication, 4);
  EXPECT_DOUBLE_EQ(exposure.exposed, 2);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].seconds, 3);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].exposed, 1.5);
  EXPECT_DOUBLE_EQ(exposure.collectives[1].seconds, 3);
  EXPECT_DOUBLE_EQ(exposure.collectives[1].exposed, 0.5);
}

TEST(Exposure, OfACollectiveThatWasCutIsThatOfItsParts) {
  TestTrace test;
  int64_t matmul = test.compute(1, 2);
  test.collective(1, 0, 1);
  test.collective(1, 1, 2, /*goesOn=*/true);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  ASSERT_EQ(exposure.collectives.size(), 1u);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].seconds, 2);
  EXPECT_DOUBLE_EQ(exposure.collectives[0].exposed, 1);
  EXPECT_EQ(exposure.collectives[0].hiddenUnder, matmul);
}

TEST(Exposure, IsTheMeanOfTheRanks) {
  TestTrace test(2);
  test.compute(0, 2);
  test.collective(1, 0, 2);
  test.trace.ranks[1].streams[0][0] = {0, 0, 1};
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_DOUBLE_EQ(exposure.communication, 2);
  EXPECT_DOUBLE_EQ(exposure.exposed, 0.5);
  EXPECT_DOUBLE_EQ(exposure.hiddenShare(), 0.75);
}

TEST(Exposure, OfNothingIsNothing) {
  TestTrace test;
  test.compute(0, 1);
  Exposure exposure = exposureOf(*test.plan, test.trace.ranks);
  EXPECT_EQ(exposure.communication, 0);
  EXPECT_EQ(exposure.hiddenShare(), 1);
  EXPECT_EQ(exposureOf(Plan(), {}).communication, 0);
}

/// Returns commands that begin and end at whole seconds, so that every second
/// is one moment.
TestTrace randomTrace(std::mt19937 &random, int length) {
  TestTrace test;
  for (int64_t stream = 0; stream < 3; ++stream)
    for (int at = 0; at < length;) {
      int begin = at + static_cast<int>(random() % 3);
      int end = begin + static_cast<int>(random() % 4);
      if (stream == 0 && random() % 4)
        test.compute(begin, end);
      else if (random() % 5)
        test.collective(stream, begin, end);
      else
        test.event(stream, begin, end);
      at = end;
    }
  return test;
}

TEST(Exposure, AgreesWithACountOfEveryMoment) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    constexpr int length = 30;
    TestTrace test = randomTrace(random, length);
    const StepTrace &trace = test.trace;
    double communication = 0, exposed = 0;
    std::vector<double> seconds(test.plan->ledger.size());
    std::vector<double> exposedOf(test.plan->ledger.size());
    for (double moment = 0.5; moment < length + 10; ++moment) {
      bool computes = false;
      std::vector<int64_t> running;
      for (size_t stream = 0; stream < 3; ++stream)
        for (const TraceSpan &span : trace.ranks[0].streams[stream]) {
          if (moment < span.begin || moment > span.end)
            continue;
          const PlanCommand &command = test.plan->commands[span.command];
          if (command.collective.row >= 0)
            running.push_back(command.collective.row);
          computes |= stream == 0 && command.kind == CommandKind::Kernel;
        }
      communication += !running.empty();
      exposed += !running.empty() && !computes;
      for (int64_t row : running) {
        seconds[row] += 1;
        exposedOf[row] += computes ? 0 : 1.0 / double(running.size());
      }
    }
    Exposure exposure = exposureOf(*test.plan, trace.ranks);
    ASSERT_NEAR(exposure.communication, communication, 1e-9);
    ASSERT_NEAR(exposure.exposed, exposed, 1e-9);
    for (size_t row = 0; row < seconds.size(); ++row) {
      ASSERT_NEAR(exposure.collectives[row].seconds, seconds[row], 1e-9);
      ASSERT_NEAR(exposure.collectives[row].exposed, exposedOf[row], 1e-9);
    }
  }
}

TEST(Summary, IsOneLine) {
  Exposure exposure;
  EXPECT_EQ(summaryLine(0.0123, exposure, 1024),
            "step 12.3 ms, no communication, peak memory 1.0 KiB");
  exposure.communication = 0.0092;
  exposure.exposed = 0.0012;
  EXPECT_EQ(summaryLine(0.0123, exposure, 1677722),
            "step 12.3 ms, exposed communication 1.20 ms, hidden 87 %, peak "
            "memory 1.6 MiB");
}

} // namespace
