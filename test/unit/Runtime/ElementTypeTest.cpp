#include "tpsp/Abi/ElementType.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace tpsp::rt;

namespace {

TEST(ElementType, SizesAndNames) {
  EXPECT_EQ(elementBytes(TPSP_RT_F32), 4);
  EXPECT_EQ(elementBytes(TPSP_RT_BF16), 2);
  EXPECT_EQ(elementBytes(TPSP_RT_F16), 2);
  EXPECT_EQ(elementBytes(TPSP_RT_F64), 8);
  EXPECT_EQ(elementBytes(TPSP_RT_I32), 4);
  EXPECT_EQ(elementBytes(TPSP_RT_I64), 8);
  EXPECT_EQ(elementBytes(-1), 0);
  EXPECT_STREQ(elementName(TPSP_RT_BF16), "bf16");
  EXPECT_STREQ(elementName(TPSP_RT_F16), "f16");
  EXPECT_STREQ(elementName(TPSP_RT_I64), "i64");
  EXPECT_STREQ(elementName(TPSP_RT_I8), "i8");
  EXPECT_STREQ(elementName(9), "?");
}

TEST(ElementType, TypesOf16BitsAreATable) {
  for (int64_t dtype = 0; elementBytes(dtype) != 0; ++dtype)
    EXPECT_EQ(halfFloat(dtype) != nullptr, elementBytes(dtype) == 2) << dtype;
  EXPECT_EQ(halfFloat(-1), nullptr);
  EXPECT_STREQ(halfFloat(TPSP_RT_BF16)->formatName, "BF16");
  EXPECT_STREQ(halfFloat(TPSP_RT_F16)->formatName, "F16");
}

TEST(ElementType, EveryHalfSurvivesTheRoundTrip) {
  for (const HalfFloat &half : halfFloats)
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
      float value = half.widen(uint16_t(bits));
      if (std::isnan(value))
        ASSERT_TRUE(std::isnan(half.widen(half.round(value)))) << bits;
      else
        ASSERT_EQ(half.round(value), bits) << half.formatName;
    }
}

/// A number rounds to the nearest neighbour, and in the middle to the even one.
/// So the error is at most half of a step, as `epsilon` says.
TEST(ElementType, EveryMiddleRoundsToTheEvenNeighbour) {
  for (const HalfFloat &half : halfFloats) {
    uint16_t infinity = half.round(std::numeric_limits<float>::infinity());
    for (uint16_t low = 0; low + 1 < infinity; ++low) {
      double from = half.widen(low), to = half.widen(uint16_t(low + 1));
      auto middle = float((from + to) / 2);
      uint16_t even = low % 2 == 0 ? low : uint16_t(low + 1);
      ASSERT_EQ(half.round(middle), even) << half.formatName << " " << low;
      ASSERT_EQ(half.round(-middle), 0x8000 | even);
      ASSERT_EQ(half.round(std::nextafter(middle, float(from))), low);
      ASSERT_EQ(half.round(std::nextafter(middle, float(to))), low + 1);
    }
    double one = half.widen(uint16_t(half.round(1.0f) + 1));
    EXPECT_EQ((one - 1) / 2, half.epsilon);
  }
}

TEST(ElementType, F16HasASmallRange) {
  EXPECT_EQ(f16ToFloat(0x7bff), 65504.0f);
  EXPECT_EQ(f16ToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(floatToF16(65519.0f), 0x7bff);
  EXPECT_EQ(floatToF16(65520.0f), 0x7c00);
  EXPECT_EQ(floatToF16(-1e30f), 0xfc00);
  EXPECT_EQ(floatToF16(0x1p-25f), 0);
  EXPECT_EQ(floatToF16(-0x1.8p-25f), 0x8001);
  EXPECT_EQ(floatToF16(-0.0f), 0x8000);
  EXPECT_EQ(floatToF16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(f16ToFloat(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(f16ToFloat(0x7c01)));
  EXPECT_EQ(floatToF16(std::nanf("")) & 0x7e00, 0x7e00);
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
