/// The thread of a stream that runs beside its rank's own.
#ifndef TPSP_RUNTIME_CPU_STREAMTHREAD_H
#define TPSP_RUNTIME_CPU_STREAMTHREAD_H

#include "tpsp/Runtime/Backend.h"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tpsp::rt {

/// A command on its way to a stream.
struct StreamCommand {
  Call *call = nullptr;
  /// Event commands only: which record of the event (EventTable.h).
  int64_t record = 0;
};

/// Runs commands one after another, in the order in which one other thread
/// enqueues them. Allocates nothing after start(). Waiting blocks.
class StreamThread {
public:
  /// Must not throw.
  using Run = std::function<void(const StreamCommand &)>;

  explicit StreamThread(Run run) : run(std::move(run)), ring(capacity) {}
  StreamThread(const StreamThread &) = delete;
  StreamThread &operator=(const StreamThread &) = delete;
  /// Ends after what is enqueued has run.
  ~StreamThread();

  /// INTERNAL if the system gives no thread. Called once, before the rest.
  Status start();

  /// Waits while as many commands are on their way as there is room for.
  void enqueue(const StreamCommand &command);

  /// Returns when everything enqueued has run.
  void drain();

  /// What is running; null if nothing is. From any thread; the Call exists
  /// until the next drain() has returned.
  const Call *current() const { return now.load(std::memory_order_acquire); }

private:
  /// A layer's commands fit, so that the issuing thread seldom waits for room.
  static constexpr size_t capacity = 256;

  void loop();

  const Run run;
  std::mutex mutex;
  /// Commands have come, or have gone.
  std::condition_variable added, removed;
  /// The commands [first, end), each at its number modulo the capacity. One
  /// leaves when it has run.
  std::vector<StreamCommand> ring;
  uint64_t first = 0, end = 0;
  bool stopping = false;
  std::atomic<const Call *> now{nullptr};
  std::thread thread;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_STREAMTHREAD_H
