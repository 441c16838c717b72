/// Attention on the CPU, with one prepared object per command.
///
/// Keys are processed block by block with a running softmax, so no whole row of
/// scores is in memory. Arithmetic is in f32 (f64 for f64), and results are
/// rounded once. Heads are independent and split over the threads.
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

/// Prepares a checked command for `threads` threads. `queryStart` is the
/// position of this rank's queries. `buffers` are in the command's order.
std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers);
std::unique_ptr<PreparedAttention>
prepareAttention(const AttentionGradientCommand &command, int64_t queryStart,
                 int threads, const AttentionBuffers &buffers);

/// Calls body(thread, number) -> Status for every number below `count`, on
/// `threads` threads. Returns a failure if there is one.
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

/// Memory of one thread, which is handed out piece by piece.
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
