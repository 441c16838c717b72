/// Runs a block of a GPU's threads on one thread of the host.
///
/// A GPU thread is a fiber. It runs until it reaches a barrier or a shuffle;
/// then the next fiber in the chosen order runs. One order and its reverse run
/// every pair of threads both ways between two barriers. So a missing barrier
/// shows in one of the two: a thread reads poison, or a value that was
/// overwritten too early.
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

/// Runs `body` once in each of `threads` threads of block `block`. Returns "",
/// or an error if some threads never reach a barrier or a shuffle. Several host
/// threads may run blocks at once.
std::string runBlock(BlockNumber block, int64_t threads, ThreadOrder order,
                     const std::function<void()> &body);

/// Functions that the code of a thread calls, within `runBlock`.
extern "C" {
int32_t tpsp_device_thread();
int32_t tpsp_device_block();
int32_t tpsp_device_part();
int32_t tpsp_device_threads();
void tpsp_device_barrier();
/// Returns the value of the thread whose number differs in the bits of
/// `distance`; below, of the thread that is number `lane` of its warp.
int32_t tpsp_device_shuffle(int32_t value, int32_t distance);
int32_t tpsp_device_value_of(int32_t value, int32_t lane);
/// Returns the threads of the warp with the same value, a bit for each.
int32_t tpsp_device_match(int32_t value);
}

} // namespace tpsp::device

#endif // TPSP_TEST_DEVICE_BLOCKEMULATOR_H
