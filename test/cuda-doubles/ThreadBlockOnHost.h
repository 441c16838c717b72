/// Blocks of threads on the host, with the interface of
/// lib/Runtime/Cuda/Kernels/ThreadBlock.h. Each phase runs thread after thread.
/// Included in place of that file.
///
/// A copy that a thread begins is done at once or when it is waited for, by
/// turns. So code that relies on either is wrong half of the time. Every other
/// phase runs from the last thread to the first. A missing `meet` is not
/// noticed.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H
#define TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H

#include "Runtime/Cuda/Kernels/DeviceNumbers.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tpsp::rt::device {

/// The state of the running block's threads.
struct RunningBlock {
  /// Bytes of a thread's state; the states lie one after another.
  size_t stateBytes = 0;
  struct Copy {
    void *to;
    const void *from;
    int bytes;

    void run() const {
      std::memset(to, 0, 16);
      std::memcpy(to, from, size_t(bytes));
    }
  };
  /// For each thread, groups of copies that are not done yet; the open group is
  /// last.
  std::vector<std::vector<std::vector<Copy>>> copies;
  bool isLate = false;
};
inline thread_local RunningBlock runningBlock;

template <typename State> class ThreadBlock {
public:
  static bool leads() { return threadIdx.x == 0; }

  ThreadBlock() {
    if (!leads())
      return;
    states.resize(blockDim.x);
    runningBlock.stateBytes = sizeof(State);
    runningBlock.copies.assign(blockDim.x, {{}});
  }

  template <typename Phase> void each(const Phase &phase) {
    for (unsigned i = 0; i < blockDim.x; ++i) {
      threadIdx.x = isBackwards ? blockDim.x - 1 - i : i;
      phase(states[threadIdx.x]);
    }
    threadIdx.x = 0;
    isBackwards = !isBackwards;
  }
  void meet() {}

private:
  std::vector<State> states;
  bool isBackwards = false;
};

/// Returns thread `lane`'s counterpart of `own`, which is a part of this
/// thread's state. Both threads are of one warp.
template <typename T> const T &ofLane(const T &own, unsigned lane) {
  auto distance = ptrdiff_t(lane) - ptrdiff_t(threadIdx.x % 32);
  return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(&own) +
                                      distance *
                                          ptrdiff_t(runningBlock.stateBytes));
}

inline void beginCopy(void *to, const void *from, int bytes) {
  if ((uintptr_t(to) | uintptr_t(from)) % 16 != 0) {
    std::fputs("a copy of 16 bytes that begins in between\n", stderr);
    std::abort();
  }
  runningBlock.isLate = !runningBlock.isLate;
  if (runningBlock.isLate)
    runningBlock.copies[threadIdx.x].back().push_back({to, from, bytes});
  else
    RunningBlock::Copy{to, from, bytes}.run();
}

inline void beginWholeCopy(void *to, const void *from, bool isInside) {
  beginCopy(to, isInside ? from : to, isInside ? 16 : 0);
}

inline void closeCopies() { runningBlock.copies[threadIdx.x].emplace_back(); }

template <int Left> void waitForCopies() {
  auto &groups = runningBlock.copies[threadIdx.x];
  while (groups.size() > Left + 1) {
    for (const RunningBlock::Copy &copy : groups.front())
      copy.run();
    groups.erase(groups.begin());
  }
}

template <bool Turned, typename RowOf>
void loadMatrices(unsigned (&registers)[4], const RowOf &rowOf) {
  unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (unsigned j = 0; j < 4; ++j) {
    unsigned short pair[2];
    for (unsigned half = 0; half < 2; ++half) {
      unsigned row = Turned ? 2 * t + half : g,
               column = Turned ? g : 2 * t + half;
      const void *at = rowOf(int(8 * j + row));
      pair[half] = static_cast<const unsigned short *>(at)[column];
    }
    registers[j] = pair[0] | unsigned(pair[1]) << 16;
  }
}

/// Returns element number `half` of a register.
template <typename T> float numberIn(unsigned pair, unsigned half) {
  return Element<T>::load({static_cast<unsigned short>(pair >> 16 * half)});
}

template <typename T>
void multiplyMatrices(float (&sums)[4], const unsigned (&a)[4],
                      const unsigned &low, const unsigned &high) {
  unsigned g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
  for (unsigned k = 0; k < 16; ++k) {
    unsigned lane = k % 8 / 2, half = k % 2;
    float rows[2], columns[2];
    for (unsigned i = 0; i < 2; ++i) {
      rows[i] = numberIn<T>(ofLane(a, 4 * g + lane)[i + 2 * (k / 8)], half);
      columns[i] =
          numberIn<T>(ofLane(k < 8 ? low : high, 4 * (2 * t + i) + lane), half);
    }
    for (unsigned i = 0; i < 4; ++i)
      sums[i] += rows[i / 2] * columns[i % 2];
  }
}

} // namespace tpsp::rt::device

#endif // TPSP_RUNTIME_CUDA_KERNELS_THREADBLOCK_H
