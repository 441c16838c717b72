/// Rows convert like single numbers, whatever instructions the processor has.
#include "HalfRows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace tpsp::rt;

namespace {

TEST(HalfRowsTest, EveryNumberIsWidened) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = uint16_t(i);
  for (const HalfFloat &half : halfFloats) {
    // Begins at an odd place and leaves an odd rest.
    std::vector<float> wide(all.size());
    halfRows(half.dtype).widen(all.data() + 1, wide.data() + 1, 0xfffd);
    EXPECT_EQ(wide.front(), 0);
    for (size_t i = 1; i < 0xfffe; ++i) {
      float expected = half.widen(all[i]);
      ASSERT_EQ(std::isnan(wide[i]), std::isnan(expected)) << i;
      if (!std::isnan(expected)) {
        ASSERT_EQ(bitsOfFloat(wide[i]), bitsOfFloat(expected)) << i;
      }
    }
    EXPECT_EQ(wide[0xfffe], 0);
  }
}

TEST(HalfRowsTest, AllKindsOfNumbersAreRounded) {
  std::mt19937 random(7);
  std::vector<float> wide(100003);
  for (float &value : wide)
    value = floatOfBits(random());
  // More numbers in the range of f16, including subnormal ones.
  for (size_t i = 0; i < wide.size(); i += 2)
    wide[i] =
        std::ldexp(1 + float(random() % 8191) / 8191, int(random() % 48) - 28);
  for (const HalfFloat &half : halfFloats) {
    std::vector<uint16_t> narrow(wide.size() + 1, 0x1234);
    halfRows(half.dtype)
        .round(wide.data(), narrow.data(), int64_t(wide.size()));
    for (size_t i = 0; i < wide.size(); ++i)
      ASSERT_EQ(narrow[i], half.round(wide[i]))
          << half.formatName << " " << wide[i];
    EXPECT_EQ(narrow.back(), 0x1234);
  }
}

} // namespace
