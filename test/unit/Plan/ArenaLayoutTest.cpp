#include "tpsp/Algebra/ArenaLayout.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace tpsp;

static int64_t rounded(int64_t bytes) {
  int64_t lines = (bytes + ArenaLayout::alignment - 1) / ArenaLayout::alignment;
  return std::max<int64_t>(lines, 1) * ArenaLayout::alignment;
}

/// A layout with a list of its allocations.
class Model {
public:
  void allocate(int64_t bytes) {
    int64_t offset = layout.allocate(bytes);
    ASSERT_EQ(offset % ArenaLayout::alignment, 0);
    ASSERT_GE(offset, 0);
    ASSERT_LE(offset + bytes, layout.size());
    auto next = live.lower_bound(offset);
    if (next != live.end()) {
      ASSERT_LE(offset + bytes, next->first) << "overlaps the next";
    }
    if (next != live.begin()) {
      auto previous = std::prev(next);
      ASSERT_LE(previous->first + previous->second, offset)
          << "overlaps the previous";
    }
    live[offset] = bytes;
    liveBytes += rounded(bytes);
    mostLive = std::max(mostLive, liveBytes);
    allBytes += rounded(bytes);
  }

  void releaseSome(size_t which) {
    auto range = std::next(live.begin(), which % live.size());
    layout.release(range->first, range->second);
    liveBytes -= rounded(range->second);
    live.erase(range);
  }

  ArenaLayout layout;
  std::map<int64_t, int64_t> live; // offset -> bytes
  int64_t liveBytes = 0, mostLive = 0, allBytes = 0;
};

/// Runs random operations, then releases everything.
static void run(Model &model, unsigned seed, int64_t largest) {
  std::mt19937 engine(seed);
  for (int step = 0; step < 3000 && !testing::Test::HasFatalFailure(); ++step) {
    bool allocate = model.live.empty() || engine() % 100 < 55;
    if (step % 1000 > 700)
      allocate = model.live.empty(); // phases in which the arena empties
    if (allocate)
      model.allocate(engine() % (largest + 1));
    else
      model.releaseSome(engine());
  }
  while (!model.live.empty())
    model.releaseSome(0);
}

TEST(ArenaLayoutTest, RandomAllocationsNeverOverlap) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Model model;
    run(model, seed, 5000);
    EXPECT_GE(model.layout.size(), model.mostLive);
    // Far below the size without reuse: fragmentation stays small.
    EXPECT_LE(model.layout.size(), 2 * model.mostLive) << "seed " << seed;
  }
}

TEST(ArenaLayoutTest, EqualSizesPackPerfectly) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Model model;
    run(model, seed, ArenaLayout::alignment); // all round to one line
    EXPECT_EQ(model.layout.size(), model.mostLive) << "seed " << seed;
  }
}

TEST(ArenaLayoutTest, FreedRangesBecomeOneAgain) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    Model model;
    run(model, seed, 5000);
    int64_t size = model.layout.size();
    EXPECT_EQ(model.layout.allocate(size), 0) << "seed " << seed;
    EXPECT_EQ(model.layout.size(), size);
  }
}

TEST(ArenaLayoutTest, TakesTheSmallestRangeThatFits) {
  ArenaLayout layout;
  int64_t wide = layout.allocate(640);
  layout.allocate(64);
  int64_t narrow = layout.allocate(128);
  layout.allocate(64);
  layout.release(wide, 640);
  layout.release(narrow, 128);
  EXPECT_EQ(layout.allocate(100), narrow);
  EXPECT_EQ(layout.allocate(100), wide);
  EXPECT_EQ(layout.allocate(512), wide + 128) << "the rest of a range is kept";
}

TEST(ArenaLayoutTest, GrowsFromAFreeRangeAtTheEnd) {
  ArenaLayout layout;
  layout.allocate(64);
  int64_t last = layout.allocate(128);
  layout.release(last, 128);
  EXPECT_EQ(layout.allocate(256), last);
  EXPECT_EQ(layout.size(), 64 + 256);
}

TEST(ArenaLayoutTest, NothingTakesALine) {
  ArenaLayout layout;
  EXPECT_EQ(layout.size(), 0);
  EXPECT_NE(layout.allocate(0), layout.allocate(0));
  EXPECT_EQ(layout.size(), 2 * ArenaLayout::alignment);
}
