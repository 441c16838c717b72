#include "tpsp/Runtime/ElementType.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tpsp::rt;

namespace {

TEST(ElementType, SizesAndNames) {
  EXPECT_EQ(elementBytes(TPSP_RT_F32), 4);
  EXPECT_EQ(elementBytes(TPSP_RT_BF16), 2);
  EXPECT_EQ(elementBytes(TPSP_RT_F64), 8);
  EXPECT_EQ(elementBytes(TPSP_RT_I32), 4);
  EXPECT_EQ(elementBytes(TPSP_RT_I64), 8);
  EXPECT_EQ(elementBytes(-1), 0);
  EXPECT_STREQ(elementName(TPSP_RT_BF16), "bf16");
  EXPECT_STREQ(elementName(TPSP_RT_I64), "i64");
  EXPECT_STREQ(elementName(9), "?");
}

TEST(ElementType, EveryBf16SurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    float value = bf16ToFloat(uint16_t(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(bf16ToFloat(floatToBf16(value)))) << bits;
    else
      EXPECT_EQ(floatToBf16(value), bits);
  }
}

TEST(ElementType, RoundsToNearestEven) {
  // bf16 has 7 bits after the point: the neighbours of 1 are 1/128 apart.
  EXPECT_EQ(bf16ToFloat(floatToBf16(1.0f + 1.0f / 256)), 1.0f);
  EXPECT_EQ(bf16ToFloat(floatToBf16(1.0f + 3.0f / 256)), 1.0f + 4.0f / 256);
  EXPECT_EQ(bf16ToFloat(floatToBf16(1.0f + 1.1f / 256)), 1.0f + 2.0f / 256);
  EXPECT_EQ(bf16ToFloat(floatToBf16(std::numeric_limits<float>::max())),
            std::numeric_limits<float>::infinity());
}

} // namespace
