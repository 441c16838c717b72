/// Runs a block of a GPU's threads on one thread of the host.
///
/// A GPU thread is a fiber. It runs until it reaches a barrier or a shuffle,
/// then the next one in the chosen order does. Between two barriers one order
/// and its reverse see every pair of threads both ways: what lacks a barrier
/// reads poison, or what should have been read before it was overwritten, in
/// one of the two.
#ifndef TPSP_TEST_DEVICE_BLOCKEMULATOR_H
#define TPSP_TEST_DEVICE_BLOCKEMULATOR_H

#include <cstdint>
#include <functional>
#include <string>

namespace tpsp::device {

enum class ThreadOrder { Forward, Backward, Shuffled };

/// A block's number along both dimensions of a launch.
struct BlockNumber {
  int64_t x = 0, y = 0;
};

/// Runs `body` once in each of `threads` threads of block `block`. Returns ""
/// or what went wrong: a barrier or a shuffle that some threads never reach.
/// Several host threads may run blocks at once.
std::string runBlock(BlockNumber block, int64_t threads, ThreadOrder order,
                     const std::function<void()> &body);

/// What code of a thread calls, within `runBlock`.
extern "C" {
int32_t tpsp_device_thread();
int32_t tpsp_device_block();
int32_t tpsp_device_part();
int32_t tpsp_device_threads();
void tpsp_device_barrier();
/// The value of the thread whose number differs in the bits of `distance`.
int32_t tpsp_device_shuffle(int32_t value, int32_t distance);
}

} // namespace tpsp::device

#endif // TPSP_TEST_DEVICE_BLOCKEMULATOR_H
