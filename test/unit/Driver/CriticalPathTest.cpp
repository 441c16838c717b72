/// The chain of commands that a step's time is made of.
#include "tpsp/Abi/CriticalPath.h"

#include "TestTrace.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::rt;

/// The numbers of the path's commands, and the ranks that they are of.
static std::vector<std::pair<int64_t, int64_t>>
numbersOf(const CriticalPath &p) {
  std::vector<std::pair<int64_t, int64_t>> numbers;
  for (const CriticalCommand &command : p.commands)
    numbers.emplace_back(command.span.command, command.rank);
  return numbers;
}

using Numbers = std::vector<std::pair<int64_t, int64_t>>;

TEST(CriticalPath, GoesThroughTheRankThatEntersLast) {
  TestTrace test(2);
  test.plan->mesh = {{"tp", 2}};
  int64_t first = test.compute(0, 1);
  int64_t gather = test.collective(0, 1, 4);
  int64_t then = test.compute(4, 5);
  test.plan->commands[gather].collective.group = 2;
  test.plan->commands[gather].collective.axes = {0};
  test.plan->commands[gather].collective.kind = CollectiveKind::AllGather;
  // Rank 1 computes longer, and enters the gather last. It ends first.
  test.trace.ranks[1].streams[0][0].end = 3;
  test.trace.ranks[1].streams[0][1].begin = 3;
  test.trace.ranks[1].streams[0][2].end = 4.5;
  CriticalPath path = criticalPath(*test.plan, test.trace.ranks);
  EXPECT_EQ(numbersOf(path), (Numbers{{first, 1}, {gather, 1}, {then, 0}}));
  EXPECT_DOUBLE_EQ(path.seconds, 5);
  EXPECT_DOUBLE_EQ(path.step, 5);
  EXPECT_EQ(criticalPathText(*test.plan, path, kindsOf(*test.plan)),
            "critical path 5.00 s of 5.00 s: kernel 4.00 s, all_gather over tp "
            "1.00 s");
}

TEST(CriticalPath, FollowsTheEventThatIsWaitedFor) {
  TestTrace test;
  int64_t hidden = test.compute(0, 2);
  int64_t gather = test.collective(1, 0, 5);
  int64_t record = test.event(1, 5, 5);
  int64_t wait = test.event(0, 2, 5);
  int64_t then = test.compute(5.25, 6);
  test.plan->commands[record].kind = CommandKind::EventRecord;
  test.plan->commands[record].event = test.plan->commands[wait].event = 0;
  CriticalPath path = criticalPath(*test.plan, test.trace.ranks);
  EXPECT_EQ(numbersOf(path), (Numbers{{gather, 0}, {then, 0}}));
  EXPECT_DOUBLE_EQ(path.seconds, 5.75);
  EXPECT_DOUBLE_EQ(path.step, 6);

  // A short gather hides under the computation, which is then the path.
  test.trace.ranks[0].streams[1][0].end = 1;
  test.trace.ranks[0].streams[1][1] = {record, 1, 1};
  EXPECT_EQ(numbersOf(criticalPath(*test.plan, test.trace.ranks)),
            (Numbers{{hidden, 0}, {then, 0}}));
}

/// Streams have clocks of their own. A path is never longer than its step.
TEST(CriticalPath, CountsTimeOnceThatTwoOfItsCommandsShare) {
  TestTrace test;
  int64_t first = test.compute(0, 3);
  int64_t then = test.compute(2.5, 6);
  CriticalPath path = criticalPath(*test.plan, test.trace.ranks);
  EXPECT_EQ(numbersOf(path), (Numbers{{first, 0}, {then, 0}}));
  EXPECT_DOUBLE_EQ(path.seconds, 6);
  EXPECT_DOUBLE_EQ(path.commands.front().span.end, 2.5);
}

TEST(CriticalPath, TakesEachRepetitionOfACommand) {
  TestTrace test(2);
  test.plan->mesh = {{"tp", 2}};
  int64_t reduce = test.collective(0, 0, 2);
  test.plan->commands[reduce].collective.group = 2;
  test.plan->commands[reduce].collective.axes = {0};
  // Twice: rank 0 enters the first last, and rank 1 the second.
  test.trace.ranks[0].streams[0] = {{reduce, 1, 2}, {reduce, 2, 4}};
  test.trace.ranks[1].streams[0] = {{reduce, 0, 2}, {reduce, 3, 4}};
  CriticalPath path = criticalPath(*test.plan, test.trace.ranks);
  EXPECT_EQ(numbersOf(path), (Numbers{{reduce, 0}, {reduce, 1}}));
  EXPECT_DOUBLE_EQ(path.seconds, 2);
}

TEST(CriticalPath, IsDrawnInStretches) {
  TestTrace test;
  test.compute(0, 2);
  test.compute(2, 3);
  test.collective(1, 3, 5);
  int64_t last = test.compute(5, 6);
  test.compute(6.5, 8);
  test.trace.critical = {{0, 0, {0, 0, 2}},
                         {0, 0, {1, 2, 3}},
                         {0, 1, {2, 3, 5}},
                         {0, 0, {last, 5, 6}},
                         {0, 0, {last + 1, 6.5, 8}}};
  auto endsOf = [&](double pause) {
    std::vector<double> ends;
    for (const CriticalStretch &each :
         criticalStretches(test.trace, {0}, pause))
      ends.push_back(each.end);
    return ends;
  };
  EXPECT_EQ(endsOf(0), (std::vector<double>{3, 5, 6, 8}));
  EXPECT_EQ(endsOf(1), (std::vector<double>{3, 5, 8}));
  EXPECT_TRUE(criticalStretches(test.trace, {1}, 0).empty());
  EXPECT_DOUBLE_EQ(criticalPath(test.trace).seconds, 7.5);
}

TEST(CriticalPath, IsEmptyWithoutTimes) {
  TestTrace test(0);
  EXPECT_EQ(criticalPathText(*test.plan,
                             criticalPath(*test.plan, test.trace.ranks),
                             kindsOf(*test.plan)),
            "");
}
