/// Long-lived threads, one for each rank.
#ifndef TPSP_RUNTIME_CORE_RANKTHREADS_H
#define TPSP_RUNTIME_CORE_RANKTHREADS_H

#include "tpsp/Abi/Status.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace tpsp::rt {

class RankThreads {
public:
  RankThreads() = default;
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;
  ~RankThreads();

  /// INTERNAL if the system gives no more threads. Called once.
  Status start(int64_t count);

  /// Calls job(i) on thread i for every thread and returns when all are done.
  /// `job` must not throw.
  void runAll(const std::function<void(int64_t)> &job);

private:
  void loop(int64_t index);

  std::vector<std::thread> threads;
  std::mutex mutex;
  std::condition_variable started, finished;
  const std::function<void(int64_t)> *job = nullptr;
  uint64_t round = 0;
  size_t running = 0;
  bool stopping = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_RANKTHREADS_H
