#include "Runtime/Train/Shuffle.h"

#include <gtest/gtest.h>

#include <vector>

using namespace tpsp::train;

static std::vector<int64_t> orderOf(int64_t size, uint64_t seed,
                                    int64_t epoch) {
  Shuffle shuffle(size, seed, epoch);
  std::vector<int64_t> order(size);
  for (int64_t i = 0; i < size; ++i)
    order[i] = shuffle.at(i);
  return order;
}

TEST(ShuffleTest, EverySampleComesOnce) {
  for (int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 64, 97, 1000, 4096, 65537}) {
    std::vector<int> seen(size);
    for (int64_t sample : orderOf(size, 3, 1)) {
      ASSERT_GE(sample, 0);
      ASSERT_LT(sample, size);
      ++seen[sample];
    }
    EXPECT_EQ(seen, std::vector<int>(size, 1)) << size;
  }
}

TEST(ShuffleTest, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(orderOf(1000, 3, 1), orderOf(1000, 3, 1));
  EXPECT_NE(orderOf(1000, 3, 1), orderOf(1000, 4, 1));
  EXPECT_NE(orderOf(1000, 3, 1), orderOf(1000, 3, 2));
}

// Neighbours do not stay neighbours, and no position keeps its sample.
TEST(ShuffleTest, LooksRandom) {
  constexpr int64_t size = 10000;
  std::vector<int64_t> order = orderOf(size, 0, 0);
  int64_t neighbours = 0, fixed = 0;
  double moved = 0;
  for (int64_t i = 0; i < size; ++i) {
    fixed += order[i] == i;
    moved += std::abs(order[i] - i);
    neighbours += i > 0 && std::abs(order[i] - order[i - 1]) == 1;
  }
  EXPECT_LE(fixed, 8);       // 1 expected
  EXPECT_LE(neighbours, 12); // 2 expected
  EXPECT_NEAR(moved / size, size / 3.0, size / 50.0);
}

TEST(ShuffleTest, LargeSetsNeedNoMemory) {
  Shuffle shuffle(int64_t(1) << 40, 1, 0);
  EXPECT_LT(shuffle.at(12345678901), int64_t(1) << 40);
  EXPECT_NE(shuffle.at(0), shuffle.at(1));
}
