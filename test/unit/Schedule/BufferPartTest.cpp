#include "tpsp/Abi/Plan.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

using namespace tpsp;

namespace {

bool touches(const BufferPart &part, int64_t byte) {
  for (int64_t run = 0; run < part.count; ++run) {
    int64_t begin = part.begin + run * part.pitch;
    if (byte >= begin && byte < begin + part.length)
      return true;
  }
  return false;
}

TEST(BufferPart, OverlapsIsNeverMissed) {
  std::mt19937 random(7);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  int apart = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    int64_t pitch = draw(1, 12);
    auto part = [&]() -> BufferPart {
      int64_t count = draw(1, 4), length = draw(0, pitch);
      return {draw(0, 24), length, count,
              draw(0, 3) ? pitch : draw(length, 15)};
    };
    BufferPart a = part(), b = part();
    bool common = false;
    for (int64_t byte = 0; byte < 100; ++byte)
      common |= touches(a, byte) && touches(b, byte);
    if (common) {
      EXPECT_TRUE(a.overlaps(b));
      EXPECT_TRUE(b.overlaps(a));
    }
    apart += !a.overlaps(b);
  }
  EXPECT_GT(apart, 5000) << "what lies apart is told apart";
}

TEST(BufferPart, CommonBytesAreCountedExactly) {
  std::mt19937 random(8);
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 20000; ++trial) {
    auto part = [&]() -> BufferPart {
      int64_t length = draw(0, 8);
      return {draw(0, 24), length, draw(1, 4),
              draw(std::max<int64_t>(length, 1), 12)};
    };
    BufferPart a = part(), b = part();
    int64_t common = 0;
    for (int64_t byte = 0; byte < 100; ++byte)
      common += touches(a, byte) && touches(b, byte);
    ASSERT_EQ(a.commonBytes(b), common);
    ASSERT_EQ(b.commonBytes(a), common);
  }
}

TEST(BufferPart, TilesOfOneBufferAreApart) {
  for (int64_t outer : {1, 2, 5})
    for (int64_t tiles : {1, 2, 3, 8})
      for (int64_t i = 0; i < tiles; ++i)
        for (int64_t j = 0; j < tiles; ++j) {
          BufferPart a{i * 12, 12, outer, 12 * tiles};
          BufferPart b{j * 12, 12, outer, 12 * tiles};
          EXPECT_EQ(a.overlaps(b), i == j);
          BufferPart whole{0, 12 * tiles * outer, 1, 0};
          EXPECT_TRUE(a.overlaps(whole));
          EXPECT_TRUE(whole.overlaps(a));
        }
}

} // namespace
