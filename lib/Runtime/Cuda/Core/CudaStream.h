/// One stream of a rank, and marks by which people are told what it is at.
///
/// A GPU does not say which command of a stream it runs. So an event is
/// recorded behind every command that is issued (not those of a captured
/// graph). The stream is at the first one that has not been reached. With an
/// observer the events measure times, one before and one behind every command.
#ifndef TPSP_RUNTIME_CUDA_CORE_CUDASTREAM_H
#define TPSP_RUNTIME_CUDA_CORE_CUDASTREAM_H

#include "CudaEvent.h"
#include "DeviceMemory.h"

#include "tpsp/Runtime/Backend.h"

#include <mutex>
#include <vector>

namespace tpsp::rt {

class CudaStream {
public:
  CudaStream() = default;
  CudaStream(const CudaStream &) = delete;
  ~CudaStream();

  /// Does not synchronise with the default stream. `priority` as CUDA has it.
  /// `isTimed`: marks measure.
  Status create(int priority, bool isTimed);

  cudaStream_t get() const { return stream; }

  /// Around what `call` enqueues.
  Status markBefore(const Call &call);
  Status markBehind(const Call &call);

  /// The first marked command that is not known to have ended, or null. From
  /// any thread. After a fault of the GPU nothing more is known to end.
  const Call *current();

  /// Whether everything enqueued has run. Fails with what a command failed
  /// with.
  Status poll(bool &isIdle);

  /// Everything has run: forgets the marks, after visiting each as
  /// visit(call, secondsFromBase to its begin, to its end) if they measure.
  template <typename Visit>
  Status clearMarks(cudaEvent_t base, const Visit &visit);

  /// Scratch memory of the stream's commands, one after another: a command asks
  /// for all of its own at once.
  Status reserveScratch(int64_t bytes, std::byte *&out) {
    return scratch.reserve(bytes, stream, out);
  }
  /// A graph is captured, which will name what is there.
  void keepScratch() { scratch.keep(); }

  /// Made by the stream's first matmul.
  DeviceMemory matmulWorkspace;

private:
  struct Mark {
    const Call *call = nullptr;
    CudaEvent begin, end;
    bool isEnded = false;
  };

  /// The next free mark; without times, the oldest is given up when there are
  /// many.
  Status nextMark(Mark *&out);

  cudaStream_t stream = nullptr;
  DeviceScratch scratch;
  bool isTimed = false;
  std::mutex mutex;
  /// Marks [first, end) are in use, by number modulo the size.
  std::vector<Mark> marks;
  size_t first = 0, end = 0;
};

template <typename Visit>
Status CudaStream::clearMarks(cudaEvent_t base, const Visit &visit) {
  std::lock_guard<std::mutex> lock(mutex);
  for (; isTimed && first < end; ++first) {
    Mark &mark = marks[first % marks.size()];
    float begin = 0, behind = 0; // milliseconds
    if (!mark.isEnded)
      continue;
    TPSP_CUDA(cudaEventElapsedTime, &begin, base, mark.begin.get());
    TPSP_CUDA(cudaEventElapsedTime, &behind, base, mark.end.get());
    visit(*mark.call, begin * 1e-3, behind * 1e-3);
  }
  first = end = 0;
  return {};
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_CUDASTREAM_H
