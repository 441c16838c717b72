// Layers found in a sequence of commands.
#include "tpsp/Schedule/RepeatedRuns.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

std::vector<int64_t> repeated(const std::vector<int64_t> &period, int times) {
  std::vector<int64_t> items;
  for (int i = 0; i < times; ++i)
    items.insert(items.end(), period.begin(), period.end());
  return items;
}

void append(std::vector<int64_t> &items, const std::vector<int64_t> &more) {
  items.insert(items.end(), more.begin(), more.end());
}

/// A forward and a backward pass of twelve layers between other commands.
TEST(RepeatedRuns, FindsTheLayersOfBothPasses) {
  std::vector<int64_t> items = {100, 101};
  append(items, repeated({1, 2, 3, 2}, 12));
  append(items, {102, 103});
  append(items, repeated({4, 5, 4, 6, 7}, 12));
  append(items, {104});
  std::vector<RepeatedRun> runs = repeatedRuns(items, 8);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].begin, 2);
  EXPECT_EQ(runs[0].period, 4);
  EXPECT_EQ(runs[0].repeats(), 12);
  EXPECT_EQ(runs[1].begin, 2 + 48 + 2);
  EXPECT_EQ(runs[1].period, 5);
  EXPECT_EQ(runs[1].repeats(), 12);
}

/// Items that repeat themselves within a layer are a part of the longer run.
TEST(RepeatedRuns, TheLongestRunWins) {
  std::vector<int64_t> layer = repeated({1}, 9);
  append(layer, {2, 3});
  std::vector<RepeatedRun> runs = repeatedRuns(repeated(layer, 10), 8);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].period, 11);
  EXPECT_EQ(runs[0].repeats(), 10);
}

TEST(RepeatedRuns, TooFewAreNone) {
  EXPECT_TRUE(repeatedRuns(repeated({1, 2, 3}, 7), 8).empty());
  EXPECT_EQ(repeatedRuns(repeated({1, 2, 3}, 8), 8).size(), 1u);
  EXPECT_TRUE(repeatedRuns({}, 8).empty());
  EXPECT_TRUE(repeatedRuns({1, 2, 3, 4, 5, 6, 7, 8, 9}, 2).empty());
}

} // namespace
