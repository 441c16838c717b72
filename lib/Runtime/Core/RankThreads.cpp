#include "RankThreads.h"

#include <fmt/format.h>

#include <system_error>

namespace tpsp::rt {

RankThreads::~RankThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  started.notify_all();
  for (std::thread &thread : threads)
    thread.join();
}

Status RankThreads::start(int64_t count) {
  try {
    for (int64_t i = 0; i < count; ++i)
      threads.emplace_back([this, i] { loop(i); });
  } catch (const std::system_error &error) {
    return {TPSP_RT_INTERNAL,
            fmt::format("cannot start a thread for each of {} ranks: {}", count,
                        error.what())};
  }
  return {};
}

void RankThreads::runAll(const std::function<void(int64_t)> &given) {
  std::unique_lock<std::mutex> lock(mutex);
  job = &given;
  running = threads.size();
  ++round;
  started.notify_all();
  finished.wait(lock, [this] { return running == 0; });
  job = nullptr;
}

void RankThreads::loop(int64_t index) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    started.wait(lock, [&] { return stopping || round != seen; });
    if (stopping)
      return;
    seen = round;
    lock.unlock();
    (*job)(index);
    lock.lock();
    if (--running == 0)
      finished.notify_all();
  }
}

} // namespace tpsp::rt
