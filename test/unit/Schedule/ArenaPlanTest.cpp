// Offsets in one arena. Buffers that are in use at the same time share no
// bytes, and large buffers find room.
#include "tpsp/Schedule/ArenaPlan.h"

#include "RandomStep.h"

#include "tpsp/Algebra/ArenaLayout.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

class Step {
public:
  int64_t buffer(int64_t bytes, BufferKind kind = BufferKind::Temporary) {
    PlanBuffer &added = plan.buffers.emplace_back();
    added.bytes = bytes;
    added.kind = kind;
    return int64_t(plan.buffers.size()) - 1;
  }

  void command(std::vector<int64_t> used, int64_t stream = 0) {
    PlanCommand &added = plan.commands.emplace_back();
    added.kind = CommandKind::Kernel;
    added.stream = stream;
    for (int64_t number : used)
      added.accesses.push_back(
          {number, {0, plan.buffers[number].bytes, 1, 0}, true});
    plan.numStreams = std::max(plan.numStreams, stream + 1);
  }

  ArenaPlan arena() const {
    HappensBefore before;
    EXPECT_FALSE(HappensBefore::analyse(plan, before));
    return planArena(plan, before);
  }

  Plan plan;
};

constexpr int64_t unit = 4096;

/// Placed in the order of issue, a small buffer after the first large one
/// blocks the next large one. That takes 9 units, though only 8 are in use at
/// once.
TEST(ArenaPlan, LargeBuffersFindRoom) {
  Step step;
  int64_t first = step.buffer(4 * unit), lasting = step.buffer(unit),
          middle = step.buffer(3 * unit), second = step.buffer(4 * unit);
  step.command({first, lasting});
  step.command({lasting, middle});
  step.command({middle, second});
  step.command({lasting});
  EXPECT_EQ(step.arena().bytes, 8 * unit);
}

/// Buffers that are placed by size come after those that last. A buffer without
/// users gets no place.
TEST(ArenaPlan, WhatLastsComesFirst) {
  Step step;
  int64_t first = step.buffer(4 * unit),
          parameter = step.buffer(unit, BufferKind::Parameter);
  int64_t lasting = step.buffer(unit), middle = step.buffer(3 * unit),
          second = step.buffer(4 * unit), unused = step.buffer(unit);
  step.command({first, lasting, parameter});
  step.command({lasting, middle});
  step.command({middle, second});
  step.command({lasting});
  ArenaPlan arena = step.arena();
  EXPECT_EQ(arena.bytes, 9 * unit);
  EXPECT_EQ(arena.offsets[parameter], 0);
  EXPECT_GE(*arena.offsets[first], unit);
  EXPECT_FALSE(arena.offsets[unused]);
}

/// A buffer with a value from an earlier segment has its room from the first
/// command on, and one for a later segment keeps it. The order of size places
/// both likewise.
TEST(ArenaPlan, OtherSegmentsValuesKeepTheirRoom) {
  for (int64_t small : {int64_t(1), 4 * unit}) {
    Step step;
    int64_t first = step.buffer(small), earlier = step.buffer(3 * unit),
            last = step.buffer(2 * unit), later = step.buffer(unit);
    step.command({first, later});
    step.command({earlier});
    step.command({last});
    int64_t reused = step.arena().bytes;
    step.plan.buffers[earlier].livesBefore = true;
    step.plan.buffers[later].livesAfter = true;
    ArenaPlan arena = step.arena();
    int64_t whole = ArenaLayout::rounded(small) + 4 * unit;
    EXPECT_LT(reused, whole);
    EXPECT_EQ(arena.bytes, whole);
    // The last command may take the room of all but the later one.
    EXPECT_TRUE(*arena.offsets[last] + 2 * unit <= *arena.offsets[later] ||
                *arena.offsets[later] + unit <= *arena.offsets[last]);
  }
}

/// Buffers that streams may use at the same time lie apart, whatever their
/// order of issue.
TEST(ArenaPlan, StreamsShareNoBytes) {
  Step step;
  int64_t a = step.buffer(4 * unit), b = step.buffer(4 * unit);
  step.command({a}, 0);
  step.command({b}, 1);
  EXPECT_EQ(step.arena().bytes, 8 * unit);
}

bool endBefore(const std::vector<int64_t> &earlier,
               const std::vector<int64_t> &later, const HappensBefore &before) {
  for (int64_t e : earlier)
    for (int64_t l : later)
      if (!before.endsBefore(e, l))
        return false;
  return true;
}

/// Checks random steps, pair by pair.
TEST(ArenaPlan, WhatIsInUseTogetherLiesApart) {
  int shared = 0, apart = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Plan step = randomStep(random, {/*commands=*/40, /*streams=*/3,
                                    /*arenaBytes=*/4096, /*forgotten=*/0,
                                    /*careless=*/0});
    // The sizes leave gaps.
    for (PlanBuffer &buffer : step.buffers)
      buffer.bytes = 64 * (1 + int64_t(random() % 97));
    HappensBefore before;
    ASSERT_FALSE(HappensBefore::analyse(step, before));
    ArenaPlan arena = planArena(step, before);
    std::vector<std::vector<int64_t>> users(step.buffers.size());
    for (size_t i = 0; i < step.commands.size(); ++i)
      for (const PlanAccess &access : step.commands[i].accesses)
        users[access.buffer].push_back(int64_t(i));
    for (size_t a = 0; a < users.size(); ++a)
      for (size_t b = 0; b < a; ++b) {
        if (!arena.offsets[a] || !arena.offsets[b])
          continue;
        int64_t beginA = *arena.offsets[a], beginB = *arena.offsets[b];
        bool overlap = beginA < beginB + step.buffers[b].bytes &&
                       beginB < beginA + step.buffers[a].bytes;
        bool isOrdered = !step.buffers[a].lasts() && !step.buffers[b].lasts() &&
                         (endBefore(users[a], users[b], before) ||
                          endBefore(users[b], users[a], before));
        EXPECT_TRUE(!overlap || isOrdered) << seed << ": " << a << ", " << b;
        (overlap ? shared : apart) += 1;
        EXPECT_LE(beginA + step.buffers[a].bytes, arena.bytes);
      }
  }
  EXPECT_GT(shared, 1000);
  EXPECT_GT(apart, 1000);
}

/// The live bytes reject at once; what is found by issue or by size is no
/// smaller than the arena that planArena() makes.
TEST(ArenaPlan, ABoundIsAnsweredFirst) {
  int found = 0, rejected = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Plan step = randomStep(random, {/*commands=*/40, /*streams=*/3,
                                    /*arenaBytes=*/4096, /*forgotten=*/0,
                                    /*careless=*/0});
    for (PlanBuffer &buffer : step.buffers)
      buffer.bytes = 64 * (1 + int64_t(random() % 97));
    HappensBefore before;
    ASSERT_FALSE(HappensBefore::analyse(step, before));
    int64_t planned = planArena(step, before).bytes;
    for (int64_t most : {planned - 64, planned, planned + planned / 16}) {
      int64_t bytes = arenaBytesWithin(most, step, before);
      bool isFound = bytes <= most;
      (isFound ? found : rejected) += 1;
      EXPECT_TRUE(!isFound || planned <= bytes) << seed;
      // A try that stopped early may have missed it, but not by much.
      EXPECT_TRUE(isFound || bytes < planned + planned / 4) << seed;
    }
    EXPECT_GT(arenaBytesWithin(planned / 4, step, before), planned / 4);
  }
  EXPECT_GT(found, 400);
  EXPECT_GT(rejected, 250);
}

} // namespace
