#include "CudaStream.h"

namespace tpsp::rt {
namespace {

/// Without times, marks are for messages alone, and this many of the last
/// commands suffice.
constexpr size_t maxUntimedMarks = 512;

/// "Not ready" is an answer and not a failure, but CUDA keeps it as the
/// thread's last error. A library may check the last error after a launch and
/// report it as its own.
cudaError_t answered(cudaError_t result) {
  if (result == cudaErrorNotReady)
    (void)cudaGetLastError();
  return result;
}

} // namespace

CudaStream::~CudaStream() {
  if (stream)
    (void)cudaStreamDestroy(stream);
}

Status CudaStream::create(int priority, bool measures) {
  isTimed = measures;
  TPSP_CUDA(cudaStreamCreateWithPriority, &stream, cudaStreamNonBlocking,
            priority);
  return {};
}

Status CudaStream::nextMark(Mark *&out) {
  if (end - first == marks.size()) {
    if (!isTimed && marks.size() >= maxUntimedMarks) {
      ++first;
    } else {
      // Full or empty: copies the marks to a larger list, the oldest first.
      std::vector<Mark> more;
      for (; first < end; ++first)
        more.push_back(std::move(marks[first % marks.size()]));
      first = 0;
      end = more.size();
      more.resize(more.empty() ? 64 : 2 * more.size());
      marks.swap(more);
    }
  }
  out = &marks[end % marks.size()];
  if (!out->end.exists())
    TPSP_TRY(out->end.create(isTimed));
  if (isTimed && !out->begin.exists())
    TPSP_TRY(out->begin.create(isTimed));
  return {};
}

Status CudaStream::markBefore(const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  Mark *mark = nullptr;
  TPSP_TRY(nextMark(mark));
  if (isTimed)
    TPSP_CUDA(cudaEventRecord, mark->begin.get(), stream);
  mark->call = &call;
  mark->isEnded = false;
  ++end;
  return {};
}

Status CudaStream::markBehind(const Call &call) {
  std::lock_guard<std::mutex> lock(mutex);
  if (first == end)
    return {};
  Mark &mark = marks[(end - 1) % marks.size()];
  if (mark.call != &call)
    return {};
  TPSP_CUDA(cudaEventRecord, mark.end.get(), stream);
  mark.isEnded = true;
  return {};
}

const Call *CudaStream::current() {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = first; i < end; ++i) {
    const Mark &mark = marks[i % marks.size()];
    // A command that is just being issued has no end mark yet.
    if (mark.isEnded && answered(cudaEventQuery(mark.end.get())) != cudaSuccess)
      return mark.call;
    // Commands that have ended need not be queried again, unless their times
    // will be read.
    if (!isTimed && i == first && i + 1 < end)
      ++first;
  }
  return nullptr;
}

Status CudaStream::poll(bool &isIdle) {
  cudaError_t result = answered(cudaStreamQuery(stream));
  isIdle = result == cudaSuccess;
  if (result == cudaErrorNotReady)
    return {};
  return checkCuda(result, "cudaStreamQuery");
}

} // namespace tpsp::rt
