#include "ExactScheduler.h"
#include "RandomProblem.h"
#include "tpsp/Schedule/OverlapSchedulers.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

using namespace tpsp;
using ::testing::HasSubstr;

namespace {

TEST(OverlapProblem, SchedulesAreValidAndNoSlowerThanSerial) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 3000; ++trial) {
    OverlapProblem problem = randomProblem(random, 1 + trial % 40, trial % 2);
    ASSERT_EQ(problem.check(), std::nullopt);
    OverlapSchedule serial = scheduleSerial(problem);
    for (double reserve : {0.0, 2e-3, 1.0}) {
      OverlapSchedule list = scheduleList(problem, reserve);
      ASSERT_EQ(verify(problem, list), std::nullopt) << "trial " << trial;
      EXPECT_LE(list.seconds, serial.seconds + 1e-12);
    }
    for (const ListVariant &variant : scheduleVariants(problem))
      ASSERT_EQ(verify(problem, variant.schedule), std::nullopt)
          << "trial " << trial;
  }
}

TEST(OverlapProblem, ListSchedulingIsNearTheOptimum) {
  std::mt19937 random(2);
  double sum = 0, worst = 0;
  constexpr int trials = 400;
  for (int trial = 0; trial < trials; ++trial) {
    OverlapProblem problem =
        randomProblem(random, 6 + trial % 7, /*withMemory=*/false);
    OverlapSchedule exact = scheduleExact(problem);
    ASSERT_EQ(verify(problem, exact), std::nullopt);
    OverlapSchedule list = scheduleList(problem);
    ASSERT_GE(list.seconds, exact.seconds - 1e-12);
    double gap = exact.seconds > 0 ? list.seconds / exact.seconds - 1 : 0;
    sum += gap;
    worst = std::max(worst, gap);
  }
  std::printf("gap to the optimum: %.2f %% on average, %.1f %% at worst\n",
              100 * sum / trials, 100 * worst);
  EXPECT_LT(sum / trials, 0.05);
}

/// The optimum by trying every order of the commands.
double bestOfAllOrders(const OverlapProblem &problem) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < problem.commands.size(); ++i)
    order.push_back(i);
  double best = 1e9;
  do {
    std::vector<double> end(order.size(), -1), free(problem.numStreams, 0);
    bool legal = true;
    double last = 0;
    for (int64_t i : order) {
      const OverlapProblem::Command &command = problem.commands[i];
      double start = free[command.stream];
      for (int64_t earlier : command.after) {
        legal &= end[earlier] >= 0;
        start = std::max(start, end[earlier]);
      }
      free[command.stream] = end[i] = start + command.seconds;
      last = std::max(last, end[i]);
    }
    if (legal)
      best = std::min(best, last);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(OverlapProblem, ExactIsTheBestOfAllOrders) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    OverlapProblem problem = randomProblem(random, 7, /*withMemory=*/false);
    EXPECT_NEAR(scheduleExact(problem).seconds, bestOfAllOrders(problem), 1e-9);
  }
}

/// Work that nobody waits for goes under the communication of the chain, and
/// is not put off for longer than that takes.
TEST(OverlapProblem, SideWorkFillsTheGapsAndIsNotHoarded) {
  OverlapProblem problem;
  problem.numStreams = 2;
  auto add = [&](double seconds, int64_t stream, std::vector<int64_t> after) {
    problem.commands.push_back({seconds, stream, std::move(after)});
    return int64_t(problem.commands.size()) - 1;
  };
  int64_t previous = -1;
  std::vector<int64_t> sides;
  for (int layer = 0; layer < 20; ++layer) {
    std::vector<int64_t> after;
    if (previous >= 0)
      after.push_back(previous);
    // As autodiff leaves them: the weight gradient before the input's.
    sides.push_back(add(2, 0, after));
    previous = add(1, 0, after);
    previous = add(1.5, 1, {previous});
  }
  OverlapSchedule schedule = scheduleList(problem);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_LE(schedule.seconds, 20 * 3 + 1.5 + 1e-9);
  int64_t waiting = 0, most = 0;
  for (int64_t command : startOrder(problem, schedule)) {
    bool isSide = llvm::is_contained(sides, command);
    waiting += isSide ? -1 : problem.commands[command].stream;
    most = std::max(most, waiting);
  }
  EXPECT_LE(most, 4);
}

/// A long gather for the end could begin while a short chain computes, but the
/// chain's own collective would have to wait for it.
TEST(OverlapProblem, AStreamIdlesForWhatIsUrgent) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.commands = {{/*seconds=*/10, /*stream=*/1, {}},
                      {1, 0, {}},
                      {1, 1, {1}},
                      {20, 0, {2}},
                      {1, 0, {0, 3}}};
  OverlapSchedule schedule = scheduleList(problem);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_DOUBLE_EQ(schedule.seconds, scheduleExact(problem).seconds);
  EXPECT_DOUBLE_EQ(schedule.seconds, 1 + 1 + 20 + 1);
  EXPECT_LT(schedule.seconds, scheduleList(problem, /*reserve=*/0).seconds);
}

/// Two gathers, of which the longer is needed later.
TEST(OverlapProblem, TheLongestChainBehindGoesFirst) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.commands = {{/*seconds=*/5, /*stream=*/1, {}},
                      {1, 1, {}},
                      {5, 0, {1}},
                      {1, 0, {0, 2}}};
  OverlapSchedule schedule = scheduleList(problem, /*reserve=*/1);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_DOUBLE_EQ(schedule.seconds, 7);
}

/// Gathers that could all be made at once take no more than there is.
TEST(OverlapProblem, MemoryBoundsWhatIsGatheredAhead) {
  for (bool waitsForRoom : {false, true}) {
    OverlapProblem problem;
    problem.numStreams = 2;
    problem.capacity = 20;
    problem.waitsForRoom = waitsForRoom;
    int64_t previous = -1;
    for (int64_t layer = 0; layer < 10; ++layer) {
      int64_t gather = problem.commands.size();
      problem.commands.push_back({1, 1, {}});
      OverlapProblem::Command compute{1, 0, {gather}};
      if (previous >= 0)
        compute.after.push_back(previous);
      problem.commands.push_back(compute);
      problem.buffers.push_back({10, {gather, gather + 1}});
      previous = gather + 1;
    }
    OverlapSchedule schedule = scheduleList(problem);
    ASSERT_EQ(verify(problem, schedule), std::nullopt);
    EXPECT_DOUBLE_EQ(schedule.seconds, 11);
    // The third gather waits for the first layer, the fourth for the second...
    std::vector<std::pair<int64_t, int64_t>> expected;
    for (int64_t layer = 2; layer < 10; ++layer)
      expected.push_back({2 * (layer - 2) + 1, 2 * layer});
    EXPECT_THAT(schedule.added, ::testing::IsSupersetOf(expected));
  }
}

/// A command that starts early must leave room for the commands before it. Here
/// the gather for the end waits, though there is room when it could begin.
TEST(OverlapProblem, RoomIsKeptForWhatComesBefore) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.capacity = 10;
  problem.commands = {{1, 0, {}}, {1, 0, {0}}, {1, 1, {}}, {1, 0, {1, 2}}};
  problem.buffers = {{10, {1}}, {10, {2, 3}}};
  OverlapSchedule schedule = scheduleList(problem);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_DOUBLE_EQ(schedule.start[2], 2);
  EXPECT_DOUBLE_EQ(schedule.seconds, 4);
  problem.capacity = 20;
  EXPECT_DOUBLE_EQ(scheduleList(problem).seconds, 3);
}

/// Less than the commands need one after another is as much as they need.
TEST(OverlapProblem, WhatIsNeededSeriallyIsThere) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.capacity = 1;
  problem.commands = {{1, 1, {}}, {1, 1, {0}}, {1, 0, {0, 1}}};
  problem.buffers = {{10, {0, 2}}, {10, {1, 2}}};
  EXPECT_EQ(problem.serialPeak(), 20);
  OverlapSchedule schedule = scheduleList(problem);
  EXPECT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_DOUBLE_EQ(schedule.seconds, 3);
}

/// A sum of earlier segments has its room before its first user, and one for
/// later segments has it after its last. So nothing else starts early there.
TEST(OverlapProblem, OtherSegmentsValuesTakeRoom) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.capacity = 20;
  problem.commands = {{1, 0, {}}, {1, 0, {}}, {1, 1, {}}, {1, 0, {1, 2}}};
  struct Case {
    OverlapBuffer one, other;
    bool OverlapBuffer::*lives;
  };
  for (const Case &each :
       {Case{{10, {3}}, {10, {0}}, &OverlapBuffer::livesBefore},
        Case{{10, {0}}, {10, {1}}, &OverlapBuffer::livesAfter}}) {
    problem.buffers = {each.one, each.other, {10, {2, 3}}};
    OverlapSchedule early = scheduleList(problem);
    EXPECT_DOUBLE_EQ(early.start[2], 0);
    problem.buffers[0].*each.lives = true;
    EXPECT_EQ(problem.serialPeak(), 20);
    OverlapSchedule late = scheduleList(problem);
    EXPECT_NE(verify(problem, early), std::nullopt);
    EXPECT_EQ(verify(problem, late), std::nullopt);
    EXPECT_GE(late.start[2], 1);
  }
}

/// Computing of a later phase fills no gap of an earlier one; its gathers do.
TEST(OverlapProblem, PhasesDoNotBeginEarly) {
  OverlapProblem problem;
  problem.numStreams = 3;
  problem.commands = {{1, 0, {}, 0}, {3, 1, {0}, 0}, {1, 0, {1}, 0},
                      {1, 0, {}, 1}, {1, 2, {}, 1},  {1, 0, {3, 4}, 1}};
  OverlapSchedule schedule = scheduleList(problem);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  EXPECT_GE(schedule.start[3], schedule.start[2] + 1);
  EXPECT_LT(schedule.start[4], schedule.start[2]);
  for (OverlapProblem::Command &command : problem.commands)
    command.phase = 0;
  EXPECT_LT(scheduleList(problem).seconds, schedule.seconds);
}

/// The backward pass and update of ZeRO-1. Each layer has five commands: the
/// gradient of its input, the gradient of its weight, its reduce-scatter, the
/// update and the all-gather.
OverlapProblem zeroStep(int layers, double scatter, double gather) {
  OverlapProblem problem;
  problem.numStreams = 2;
  for (int i = 0; i < layers; ++i) {
    std::vector<int64_t> chain;
    if (i > 0)
      chain = {2 * i - 2};
    problem.commands.push_back({1, 0, chain});
    problem.commands.push_back({1, 0, {2 * i}});
  }
  int64_t first = problem.commands.size();
  for (int i = 0; i < layers; ++i)
    problem.commands.push_back({scatter, 1, {2 * i + 1}});
  for (int i = 0; i < layers; ++i)
    problem.commands.push_back({0.01, 0, {first + i}});
  for (int i = 0; i < layers; ++i)
    problem.commands.push_back({gather, 1, {first + layers + i}});
  return problem;
}

/// A link that is busy for the whole backward pass gets weight gradients as
/// soon as possible, though only a short chain depends on each.
TEST(OverlapProblem, BusyLinksAreFedEarly) {
  for (int layers : {7, 13, 32})
    for (auto [scatter, gather] :
         {std::pair(0.9, 0.9), {1.5, 0.3}, {1.0, 1.2}}) {
      OverlapProblem problem = zeroStep(layers, scatter, gather);
      OverlapSchedule schedule = scheduleList(problem);
      ASSERT_EQ(verify(problem, schedule), std::nullopt);
      double computing = layers * 2.01, link = layers * (scatter + gather);
      // Nothing is sent before the first weight's gradient is there, and the
      // last is followed by its own transfers.
      double floor =
          std::max(2 + link, computing - 0.01 + scatter + 0.01 + gather);
      EXPECT_LE(schedule.seconds, 1.06 * floor)
          << layers << " layers, " << scatter << ", " << gather;
    }
}

struct WrongSchedule {
  const char *name, *message;
  void (*spoil)(OverlapProblem &, OverlapSchedule &);
};

class WrongSchedules : public ::testing::TestWithParam<WrongSchedule> {};

TEST_P(WrongSchedules, AreRejected) {
  OverlapProblem problem;
  problem.numStreams = 2;
  problem.capacity = 10;
  problem.commands = {{1, 0, {}, 0},
                      {2, 1, {0}, 0},
                      {1, 0, {1}, 0},
                      {2, 1, {0}, 0},
                      {1, 0, {3}, 1}};
  problem.buffers = {{10, {1, 2}}, {10, {3, 4}}};
  ASSERT_EQ(problem.check(), std::nullopt);
  OverlapSchedule schedule = scheduleList(problem);
  ASSERT_EQ(verify(problem, schedule), std::nullopt);
  GetParam().spoil(problem, schedule);
  auto wrong = verify(problem, schedule);
  ASSERT_TRUE(wrong);
  EXPECT_THAT(*wrong, HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    OverlapProblem, WrongSchedules,
    ::testing::Values(
        WrongSchedule{"Dependence", "which it comes after",
                      [](auto &, auto &s) { s.start[2] = 1.5; }},
        WrongSchedule{"Stream", "stream 1 starts command 3",
                      [](auto &p, auto &s) {
                        p.capacity = 100;
                        s.added.clear();
                        s.start[3] = s.start[1] + 1;
                      }},
        WrongSchedule{"Memory", "takes memory to 20 bytes of 10",
                      [](auto &, auto &s) {
                        s.start[3] = 3;
                        s.added.clear();
                        s.start[2] = 3.5;
                        s.start[4] = 5;
                        s.seconds = 6;
                      }},
        WrongSchedule{"Phase", "starts behind",
                      [](auto &p, auto &s) { p.commands[2].phase = 2; }},
        WrongSchedule{"End", "ends at",
                      [](auto &, auto &s) { s.seconds += 1; }},
        WrongSchedule{"Count", "starts for",
                      [](auto &, auto &s) { s.start.pop_back(); }},
        WrongSchedule{"Added", "made it wait for",
                      [](auto &, auto &s) {
                        s.added.push_back({4, 0});
                      }},
        WrongSchedule{"Negative", "starts at",
                      [](auto &, auto &s) { s.start[0] = -1; }}),
    [](const auto &info) { return info.param.name; });

TEST(OverlapProblem, MalformedProblemsAreNamed) {
  auto problemWith = [](auto change) {
    OverlapProblem problem;
    problem.numStreams = 2;
    problem.commands = {{1, 0, {}}, {1, 1, {0}}, {1, 0, {1}}};
    change(problem);
    return problem.check().value_or("");
  };
  EXPECT_EQ(problemWith([](auto &) {}), "");
  EXPECT_THAT(problemWith([](auto &p) { p.commands[1].after = {1}; }),
              HasSubstr("not before it"));
  EXPECT_THAT(problemWith([](auto &p) { p.commands[1].stream = 2; }),
              HasSubstr("stream 2 of 2"));
  EXPECT_THAT(problemWith([](auto &p) { p.commands[1].seconds = -1; }),
              HasSubstr("takes"));
  EXPECT_THAT(problemWith([](auto &p) { p.commands[0].phase = 1; }),
              HasSubstr("of phase 0, behind one of phase 1"));
  EXPECT_THAT(problemWith([](auto &p) {
                p.buffers = {{1, {}}};
              }),
              HasSubstr("0 users"));
  EXPECT_THAT(problemWith([](auto &p) {
                p.buffers = {{-1, {0}}};
              }),
              HasSubstr("-1 bytes"));
  EXPECT_THAT(problemWith([](auto &p) {
                p.buffers = {{1, {2, 1}}};
              }),
              HasSubstr("ascending"));
  EXPECT_THAT(problemWith([](auto &p) {
                p.buffers = {{1, {3}}};
              }),
              HasSubstr("ascending"));
}

} // namespace
