#include "tpsp/Abi/Quantity.h"
#include "tpsp/Abi/CheckedMath.h"

#include <gtest/gtest.h>

using namespace tpsp;
using namespace tpsp::rt;

TEST(Quantity, Seconds) {
  EXPECT_EQ(secondsText(0), "0 s");
  EXPECT_EQ(secondsText(-1), "0 s");
  EXPECT_EQ(secondsText(123.4), "123 s");
  EXPECT_EQ(secondsText(2.506), "2.51 s");
  EXPECT_EQ(secondsText(0.99996), "1.00 s");
  EXPECT_EQ(secondsText(0.0123), "12.3 ms");
  EXPECT_EQ(secondsText(8.5e-7), "850 ns");
  EXPECT_EQ(secondsText(1.5e-5), "15.0 µs");
  EXPECT_EQ(secondsText(1e-12), "0.00 ns");
}

TEST(Quantity, Bytes) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1536), "1.5 KiB");
  EXPECT_EQ(bytesText(double(3) * (1 << 30)), "3.0 GiB");
  EXPECT_EQ(bytesText(0x1p50), "1.0 PiB");
  EXPECT_EQ(bytesText(0x1p62), "4.0 EiB");
  EXPECT_EQ(bytesText(double(INT64_MAX)), "more than 8 EiB");
}

TEST(Quantity, SumsOfBytesStayTheLargest) {
  EXPECT_EQ(saturatedSum(3, 4), 7);
  EXPECT_EQ(saturatedSum(INT64_MAX - 1, 1), INT64_MAX);
  EXPECT_EQ(saturatedSum(INT64_MAX, 1), INT64_MAX);
  EXPECT_EQ(saturatedProduct(3, 4), 12);
  EXPECT_EQ(saturatedProduct(int64_t(1) << 62, 2), INT64_MAX);
}

TEST(Quantity, CountsInWords) {
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(2, "rank"), "2 ranks");
}
