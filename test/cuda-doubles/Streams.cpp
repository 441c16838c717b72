// Streams and events.
#include "DoubleStream.h"

#include <chrono>
#include <set>

thread_local std::weak_ptr<Capture> ownCapture;

namespace {

double now() {
  using namespace std::chrono;
  return duration<double, std::milli>(steady_clock::now().time_since_epoch())
      .count();
}

struct Streams {
  std::mutex mutex;
  std::set<CUstream_st *> all;
};
Streams &streams() {
  static auto *instance = new Streams;
  return *instance;
}

bool isDeviceIdle(int device) {
  std::lock_guard<std::mutex> lock(streams().mutex);
  for (CUstream_st *stream : streams().all)
    if (stream->device == device && !stream->isIdle())
      return false;
  return true;
}

/// Whether the stream takes part in an invalid capture and so accepts no work.
bool isBroken(cudaStream_t stream) {
  return stream->capture && stream->capture->isInvalid;
}

} // namespace

void Moment::reach() {
  std::lock_guard<std::mutex> lock(mutex);
  reached = true;
  time = now();
  changed.notify_all();
}

void Moment::wait() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return reached; });
}

bool Moment::isReached() {
  std::lock_guard<std::mutex> lock(mutex);
  return reached;
}

double Moment::milliseconds() {
  std::lock_guard<std::mutex> lock(mutex);
  return time;
}

bool waitForDevice() {
  int device = 0;
  (void)cudaGetDevice(&device);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  while (!isDeviceIdle(device)) {
    if (std::chrono::steady_clock::now() > end)
      return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

bool breaksCapture() {
  std::shared_ptr<Capture> capture = ownCapture.lock();
  if (capture)
    capture->isInvalid = true;
  return capture != nullptr;
}

CUstream_st::~CUstream_st() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    isStopping = true;
    changed.notify_all();
  }
  if (thread.joinable())
    thread.join();
}

void CUstream_st::push(std::function<void()> task) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!thread.joinable())
    thread = std::thread([this] { loop(); });
  tasks.push_back(std::move(task));
  changed.notify_all();
}

bool CUstream_st::isIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  return tasks.empty() && !isRunning;
}

void CUstream_st::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return tasks.empty() && !isRunning; });
}

void CUstream_st::loop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    changed.wait(lock, [this] { return isStopping || !tasks.empty(); });
    if (tasks.empty())
      return;
    auto task = std::move(tasks.front());
    tasks.pop_front();
    isRunning = true;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    isRunning = false;
    changed.notify_all();
  }
}

cudaError_t doubleEnqueue(cudaStream_t stream, std::function<void()> task) {
  if (!stream)
    return cudaErrorInvalidResourceHandle;
  if (isBroken(stream))
    return cudaErrorStreamCaptureInvalidated;
  if (stream->capture)
    stream->capture->operations.push_back(
        {Capture::Kind::Task, stream->lane, 0, std::move(task)});
  else
    stream->push(std::move(task));
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaDeviceGetStreamPriorityRange(int *least,
                                                         int *greatest) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out,
                                                     unsigned flags,
                                                     int priority) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (flags != cudaStreamNonBlocking || priority > 0 || priority < -5)
    return cudaErrorInvalidValue;
  *out = new CUstream_st;
  (void)cudaGetDevice(&(*out)->device);
  (*out)->priority = priority;
  {
    std::lock_guard<std::mutex> lock(streams().mutex);
    streams().all.insert(*out);
  }
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  // The real function returns at once while the work goes on. Here it waits, so
  // that no work uses freed memory.
  {
    std::lock_guard<std::mutex> lock(streams().mutex);
    streams().all.erase(stream);
  }
  doubleSawEnd(stream);
  delete stream;
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (stream->capture) {
    stream->capture->isInvalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (!stream->isIdle())
    return doubleNotReady();
  doubleSawEnd(stream);
  return stream->error;
}

TPSP_DOUBLE cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (stream->capture) {
    stream->capture->isInvalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  stream->drain();
  doubleSawEnd(stream);
  return stream->error;
}

TPSP_DOUBLE cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out,
                                                 unsigned flags) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  *out = new CUevent_st;
  (*out)->measures = !(flags & cudaEventDisableTiming);
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaEventRecord(cudaEvent_t event,
                                        cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (isBroken(stream))
    return cudaErrorStreamCaptureInvalidated;
  std::lock_guard<std::mutex> lock(event->mutex);
  if (stream->capture) {
    event->capture = stream->capture;
    event->slot = stream->capture->slots++;
    stream->capture->operations.push_back(
        {Capture::Kind::Record, stream->lane, event->slot, nullptr});
    return cudaSuccess;
  }
  event->capture = nullptr;
  event->moment = std::make_shared<Moment>();
  stream->push([moment = event->moment] { moment->reach(); });
  return cudaSuccess;
}

/// Makes `stream` wait for an event recorded within a capture, which it joins.
static cudaError_t waitInCapture(cudaStream_t stream, cudaEvent_t event) {
  Capture &capture = *event->capture;
  if (!stream->capture) {
    stream->capture = event->capture;
    stream->lane = int(capture.lanes.size());
    capture.lanes.push_back(stream);
    capture.priorities.push_back(stream->priority);
  }
  if (stream->capture != event->capture)
    return cudaErrorStreamCaptureMerge;
  capture.operations.push_back(
      {Capture::Kind::Wait, stream->lane, event->slot, nullptr});
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                            cudaEvent_t event, unsigned) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (isBroken(stream))
    return cudaErrorStreamCaptureInvalidated;
  std::lock_guard<std::mutex> lock(event->mutex);
  if (event->capture)
    return waitInCapture(stream, event);
  if (stream->capture) {
    stream->capture->isInvalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  if (event->moment)
    stream->push([moment = event->moment] { moment->wait(); });
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  std::lock_guard<std::mutex> lock(event->mutex);
  if (event->capture)
    return cudaErrorCapturedEvent;
  return !event->moment || event->moment->isReached() ? cudaSuccess
                                                      : doubleNotReady();
}

TPSP_DOUBLE cudaError_t cudaEventElapsedTime(float *milliseconds,
                                             cudaEvent_t start,
                                             cudaEvent_t end) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (!start->measures || !end->measures)
    return cudaErrorInvalidResourceHandle;
  if (!start->moment || !end->moment)
    return cudaErrorInvalidResourceHandle;
  if (!start->moment->isReached() || !end->moment->isReached())
    return cudaErrorNotReady;
  *milliseconds =
      float(end->moment->milliseconds() - start->moment->milliseconds());
  return cudaSuccess;
}
