/// Attention on the CPU: one prepared object per command.
///
/// Keys come block by block, with a running softmax, so that no row of scores
/// is in memory whole. All is computed in f32 (f64 for f64) and rounded once.
/// Heads are independent and split over the threads.
#ifndef TPSP_RUNTIME_CPU_CPUATTENTION_H
#define TPSP_RUNTIME_CPU_CPUATTENTION_H

#include "CpuMatmul.h"
#include "ScratchBuffer.h"
#include "tpsp/Runtime/Backend.h"

#include <atomic>
#include <vector>

namespace tpsp::rt {

class PreparedAttention : public CommandState {
public:
  virtual Status run(ScratchBuffer &scratch) = 0;
};

using AttentionBuffers = std::vector<std::byte *>;

/// Prepares a checked command for `threads` threads. `queryStart` is this
/// rank's. `buffers` are the command's, in its order.
std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers);
std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionGradientCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers);

/// Calls body(thread, number) -> Status for every number below `count`, on
/// `threads` threads; a failure, if there is one.
template <typename Body>
Status forEachOnThreads(int64_t count, int threads, const Body &body) {
  std::atomic<bool> failed{false};
  Status failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t number = 0; number < count; ++number) {
    Status status = body(teamThread(), number);
    if (!status.ok() && !failed.exchange(true))
      failure = std::move(status);
  }
  return failure;
}

/// Memory of a thread, handed out piece by piece.
template <typename T> class TileMemory {
public:
  explicit TileMemory(T *next) : next(next) {}
  T *take(int64_t elements) {
    T *taken = next;
    next += elements;
    return taken;
  }

private:
  T *next;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUATTENTION_H
