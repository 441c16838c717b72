#include "StreamThread.h"

#include <fmt/format.h>

#include <system_error>

namespace tpsp::rt {

StreamThread::~StreamThread() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  added.notify_all();
  if (thread.joinable())
    thread.join();
}

Status StreamThread::start() {
  try {
    thread = std::thread([this] { loop(); });
  } catch (const std::system_error &error) {
    return {TPSP_RT_INTERNAL,
            fmt::format("cannot start a thread for a stream: {}; ask for fewer "
                        "ranks",
                        error.what())};
  }
  return {};
}

void StreamThread::enqueue(const StreamCommand &command) {
  {
    std::unique_lock<std::mutex> lock(mutex);
    removed.wait(lock, [this] { return end - first < capacity; });
    ring[end++ % capacity] = command;
  }
  added.notify_one();
}

void StreamThread::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  removed.wait(lock, [this] { return first == end; });
}

void StreamThread::loop() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    added.wait(lock, [this] { return stopping || first != end; });
    if (first == end)
      return;
    StreamCommand command = ring[first % capacity];
    lock.unlock();
    now.store(command.call, std::memory_order_release);
    run(command);
    now.store(nullptr, std::memory_order_release);
    lock.lock();
    ++first;
    removed.notify_all();
  }
}

} // namespace tpsp::rt
