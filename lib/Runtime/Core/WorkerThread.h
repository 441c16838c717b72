/// A long-lived thread that runs items from another thread.
#ifndef TPSP_RUNTIME_CORE_WORKERTHREAD_H
#define TPSP_RUNTIME_CORE_WORKERTHREAD_H

#include "tpsp/Abi/Status.h"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tpsp::rt {

/// Runs items one after another, in the order in which one other thread
/// enqueues them. Allocates nothing after start(). Waiting blocks.
template <typename Item> class WorkerThread {
public:
  /// Must not throw.
  using Run = std::function<void(const Item &)>;

  explicit WorkerThread(Run run) : run(std::move(run)), ring(capacity) {}
  WorkerThread(const WorkerThread &) = delete;
  WorkerThread &operator=(const WorkerThread &) = delete;
  /// Stops after all enqueued items have run.
  ~WorkerThread() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      isStopping = true;
    }
    added.notify_all();
    if (thread.joinable())
      thread.join();
  }

  /// Called once, before the other methods. INTERNAL if the system gives no
  /// thread. `what` names the thread's purpose in the message.
  Status start(const char *what) {
    try {
      thread = std::thread([this] { loop(); });
    } catch (const std::system_error &error) {
      return {TPSP_RT_INTERNAL, std::string("cannot start a thread for ") +
                                    what + ": " + error.what() +
                                    "; ask for fewer ranks"};
    }
    return {};
  }

  /// Waits while the queue is full.
  void enqueue(const Item &item) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      removed.wait(lock, [this] { return end - first < capacity; });
      ring[end++ % capacity] = item;
    }
    added.notify_one();
  }

  /// Returns when all enqueued items have run.
  void drain() {
    std::unique_lock<std::mutex> lock(mutex);
    removed.wait(lock, [this] { return first == end; });
  }

private:
  /// Room for the commands of a layer, so that the issuing thread seldom waits.
  static constexpr size_t capacity = 256;

  void loop() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      added.wait(lock, [this] { return isStopping || first != end; });
      if (first == end)
        return;
      Item item = ring[first % capacity];
      lock.unlock();
      run(item);
      lock.lock();
      ++first;
      removed.notify_all();
    }
  }

  const Run run;
  std::mutex mutex;
  /// Notified when items are added, and when they are removed.
  std::condition_variable added, removed;
  /// The items [first, end), each at its number modulo the capacity. An item is
  /// removed when it has run.
  std::vector<Item> ring;
  uint64_t first = 0, end = 0;
  bool isStopping = false;
  std::thread thread;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_WORKERTHREAD_H
