// Compares vector clocks with the closure over all pairs of commands, and
// dependences with a check of every byte.
#include "tpsp/Schedule/HappensBefore.h"

#include "RandomStep.h"
#include "ScheduleOracle.h"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

using namespace tpsp;
using testing::HasSubstr;

namespace {

TEST(HappensBefore, IsTheClosureOfStreamsAndEvents) {
  std::mt19937 random(11);
  int ordered = 0, free = 0;
  for (int trial = 0; trial < 500; ++trial) {
    RandomStepShape shape;
    shape.streams = 1 + trial % 5;
    shape.commands = 20;
    shape.forgotten = 500;
    Plan step = randomStep(random, shape);
    HappensBefore before;
    ASSERT_FALSE(HappensBefore::analyse(step, before));
    std::vector<int64_t> all(step.commands.size());
    std::iota(all.begin(), all.end(), 0);
    std::string wrong;
    IssueClosure closure(step, all, wrong);
    ASSERT_EQ(wrong, "");
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = 0; j < all.size(); ++j) {
        ASSERT_EQ(before.endsBefore(i, j), closure.endsBefore(i, j))
            << "trial " << trial << ": " << i << " before " << j;
        (closure.areOrdered(i, j) ? ordered : free)++;
      }
  }
  EXPECT_GT(ordered, 10000);
  EXPECT_GT(free, 10000);
}

/// Returns the bytes of the buffer that an access touches.
std::set<int64_t> bytesOf(const PlanAccess &access) {
  std::set<int64_t> bytes;
  for (int64_t run = 0; run < access.part.count; ++run)
    for (int64_t i = 0; i < access.part.length; ++i)
      bytes.insert(access.part.begin + run * access.part.pitch + i);
  return bytes;
}

bool conflict(const PlanCommand &a, const PlanCommand &b) {
  for (const PlanAccess &x : a.accesses)
    for (const PlanAccess &y : b.accesses) {
      if (x.buffer != y.buffer || !(x.isWrite || y.isWrite))
        continue;
      std::set<int64_t> bytes = bytesOf(x);
      for (int64_t byte : bytesOf(y))
        if (bytes.count(byte))
          return true;
    }
  return false;
}

TEST(HappensBefore, DependencesMissNoByte) {
  std::mt19937 random(12);
  int needed = 0, more = 0;
  for (int trial = 0; trial < 500; ++trial) {
    Plan step = randomStep(random, {});
    std::vector<std::vector<int64_t>> after = dependencesOf(step);
    ASSERT_EQ(after.size(), step.commands.size());
    for (size_t later = 0; later < after.size(); ++later) {
      EXPECT_TRUE(std::is_sorted(after[later].begin(), after[later].end()));
      std::set<int64_t> found(after[later].begin(), after[later].end());
      EXPECT_EQ(found.size(), after[later].size());
      for (size_t earlier = 0; earlier < later; ++earlier) {
        bool isNeeded = conflict(step.commands[earlier], step.commands[later]);
        needed += isNeeded;
        more += found.count(earlier) && !isNeeded;
        EXPECT_TRUE(!isNeeded || found.count(earlier))
            << "trial " << trial << ": " << later << " after " << earlier;
      }
    }
  }
  EXPECT_GT(needed, 1000);
  EXPECT_LT(more, needed / 10) << "parts that lie apart are told apart";
}

/// Returns a step of a record on stream 0 and a wait on stream 1.
Plan recordAndWait() {
  Plan step;
  step.numStreams = 2;
  step.numEvents = 1;
  PlanCommand event;
  event.event = 0;
  event.kind = CommandKind::EventRecord;
  step.commands.push_back(event);
  event.kind = CommandKind::EventWait;
  event.stream = 1;
  step.commands.push_back(event);
  return step;
}

TEST(HappensBefore, NamesWrongEvents) {
  auto faultAfter = [](auto change) {
    Plan step = recordAndWait();
    change(step);
    HappensBefore before;
    std::optional<StepFault> fault = HappensBefore::analyse(step, before);
    return fault.value_or(StepFault{"", -1, -1, -1, -1});
  };
  EXPECT_EQ(faultAfter([](Plan &) {}).message, "");
  StepFault fault =
      faultAfter([](Plan &s) { std::swap(s.commands[0], s.commands[1]); });
  EXPECT_THAT(fault.message, HasSubstr("waits for event 0, which nothing has"));
  EXPECT_EQ(fault.command, 0);
  fault = faultAfter([](Plan &s) { s.commands[1].kind = s.commands[0].kind; });
  EXPECT_THAT(fault.message, HasSubstr("records event 0 again"));
  EXPECT_EQ(fault.command, 1);
  EXPECT_EQ(fault.otherCommand, 0);
  for (int64_t bad : {-1, 2}) {
    fault = faultAfter([&](Plan &s) { s.commands[1].stream = bad; });
    EXPECT_THAT(fault.message, HasSubstr("is on stream " + std::to_string(bad) +
                                         ", but the program has 2"));
    fault = faultAfter([&](Plan &s) { s.commands[1].event = bad; });
    EXPECT_THAT(fault.message, HasSubstr("is of event " + std::to_string(bad) +
                                         ", but the program has 1"));
    EXPECT_EQ(fault.command, 1);
  }
}

} // namespace
