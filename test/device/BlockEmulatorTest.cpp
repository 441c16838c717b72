// Kernels are tested on the emulator, so it must notice their errors.
#include "BlockEmulator.h"

#include "gtest/gtest.h"

#include <vector>

using namespace tpsp::device;

static const ThreadOrder orders[] = {
    ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled};

TEST(BlockEmulatorTest, BarriersOrderThreads) {
  for (ThreadOrder order : orders) {
    std::vector<int> written(64), read(64);
    EXPECT_EQ(runBlock({3}, 64, order,
                       [&] {
                         int me = tpsp_device_thread();
                         EXPECT_EQ(tpsp_device_block(), 3);
                         EXPECT_EQ(tpsp_device_threads(), 64);
                         written[me] = me + 1;
                         tpsp_device_barrier();
                         read[me] = written[63 - me];
                       }),
              "");
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(read[i], 64 - i);
  }
}

TEST(BlockEmulatorTest, WithoutABarrierSomeOrderReadsTooEarly) {
  bool isSeen = false;
  for (ThreadOrder order : orders) {
    std::vector<int> written(32), read(32);
    runBlock({0}, 32, order, [&] {
      int me = tpsp_device_thread();
      written[me] = me + 1;
      read[me] = written[31 - me];
    });
    for (int i = 0; i < 32; ++i)
      isSeen |= read[i] != 32 - i;
  }
  EXPECT_TRUE(isSeen);
}

TEST(BlockEmulatorTest, ShufflesSwapWithinWarps) {
  for (ThreadOrder order : orders) {
    std::vector<int> got(64);
    EXPECT_EQ(runBlock({0}, 64, order,
                       [&] {
                         int me = tpsp_device_thread();
                         got[me] = tpsp_device_shuffle(me, 4);
                       }),
              "");
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(got[i], i ^ 4);
  }
}

TEST(BlockEmulatorTest, LanesFindEqualValues) {
  for (ThreadOrder order : orders) {
    std::vector<int> same(64), got(64);
    EXPECT_EQ(runBlock({0}, 64, order,
                       [&] {
                         int me = tpsp_device_thread();
                         same[me] = tpsp_device_match(me % 4);
                         got[me] = tpsp_device_value_of(me, me / 2 % 32);
                       }),
              "");
    for (int i = 0; i < 64; ++i) {
      EXPECT_EQ(uint32_t(same[i]), 0x11111111u << i % 4);
      EXPECT_EQ(got[i], i / 32 * 32 + i % 64 / 2 % 32);
    }
  }
}

TEST(BlockEmulatorTest, NothingHangs) {
  auto late = [] {
    if (tpsp_device_thread() != 5)
      tpsp_device_barrier();
  };
  EXPECT_EQ(runBlock({0}, 32, ThreadOrder::Forward, late),
            "threads of block 0 wait forever: 31 at a barrier, 0 at a shuffle, "
            "1 have ended");
  auto parted = [] {
    if (tpsp_device_thread() < 16)
      tpsp_device_shuffle(0, 1);
  };
  EXPECT_NE(runBlock({0}, 32, ThreadOrder::Forward, parted), "");
}
