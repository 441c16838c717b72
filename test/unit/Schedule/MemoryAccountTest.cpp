// The containers of list scheduling, against simple ones.
#include "Schedule/MemoryAccount.h"
#include "Schedule/NumberSet.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>
#include <set>

using namespace tpsp;

TEST(NumberSet, IsASet) {
  std::mt19937 random(1);
  for (size_t bound : {1, 63, 64, 65, 4096, 4097, 70000}) {
    NumberSet set(bound);
    std::set<int64_t> expected;
    EXPECT_EQ(set.first(), -1);
    for (int step = 0; step < 1000; ++step) {
      auto number = int64_t(random() % bound);
      if (random() % 2) {
        set.insert(number);
        expected.insert(number);
      } else {
        set.erase(number);
        expected.erase(number);
      }
      ASSERT_EQ(set.contains(number), expected.count(number) == 1);
      ASSERT_EQ(set.empty(), expected.empty());
      ASSERT_EQ(set.first(), expected.empty() ? -1 : *expected.begin());
      auto next = expected.upper_bound(number);
      ASSERT_EQ(set.next(number), next == expected.end() ? -1 : *next);
    }
  }
}

TEST(RangeMaximum, IsTheLargestOfSums) {
  std::mt19937 random(1);
  for (int64_t size : {1, 2, 7, 64, 65}) {
    RangeMaximum numbers(size);
    std::vector<int64_t> expected(size, 0);
    for (int step = 0; step < 300; ++step) {
      auto end = int64_t(random() % (size + 1));
      int64_t bytes = int64_t(random() % 200) - 100;
      numbers.addBefore(end, bytes);
      for (int64_t i = 0; i < end; ++i)
        expected[i] += bytes;
      auto first = int64_t(random() % size);
      auto last = first + 1 + int64_t(random() % (size - first));
      ASSERT_EQ(
          numbers.max(first, last),
          *std::max_element(expected.begin() + first, expected.begin() + last));
      ASSERT_EQ(numbers.max(first, first), 0);
    }
  }
}

TEST(NumberedLists, HaveTheirValuesInOrder) {
  NumberedLists<int64_t> lists(4, [](auto add) {
    add(3, 1);
    add(0, 2);
    add(3, 3);
    add(1, 4);
  });
  using testing::ElementsAre;
  EXPECT_EQ(lists.size(), 4u);
  EXPECT_THAT(lists[0], ElementsAre(2));
  EXPECT_THAT(lists[1], ElementsAre(4));
  EXPECT_EQ(lists[2].size(), 0u);
  EXPECT_THAT(lists[3], ElementsAre(1, 3));
}
