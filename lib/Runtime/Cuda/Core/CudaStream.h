/// One stream of a rank, with marks that tell which command it is running.
///
/// A GPU does not report which command of a stream it runs. So an event is
/// recorded after every command that is issued, except in a captured graph. The
/// stream is running the first command whose event has not been reached. With
/// an observer, the events measure times: one is recorded before and one after
/// every command.
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

  /// Creates a stream that does not synchronise with the default stream.
  /// `priority` is CUDA's. If `isTimed`, marks measure time.
  Status create(int priority, bool isTimed);

  cudaStream_t get() const { return stream; }

  /// Called before and after the commands that `call` enqueues.
  Status markBefore(const Call &call);
  Status markBehind(const Call &call);

  /// The first marked command that is not known to have ended, or null.
  /// Callable from any thread. After a fault of the GPU, no further command is
  /// known to end.
  const Call *current();

  /// Sets `isIdle` to whether everything enqueued has run. Fails if a command
  /// has failed.
  Status poll(bool &isIdle);

  /// Called when everything has run; forgets the marks. If they measure time,
  /// first calls visit(call, begin, end) for each, in seconds since `base`.
  template <typename Visit>
  Status clearMarks(cudaEvent_t base, const Visit &visit);

  /// Scratch memory that the stream's commands use one after another. A command
  /// reserves all of its scratch memory at once.
  Status reserveScratch(int64_t bytes, std::byte *&out) {
    return scratch.reserve(bytes, stream, out);
  }
  /// Called when a graph is captured, which will refer to the current memory.
  void keepScratch() { scratch.keep(); }

  /// Allocated by the stream's first matmul.
  DeviceMemory matmulWorkspace;

private:
  struct Mark {
    const Call *call = nullptr;
    CudaEvent begin, end;
    bool isEnded = false;
  };

  /// Returns the next free mark. Marks without times are limited in number: the
  /// oldest is reused.
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
