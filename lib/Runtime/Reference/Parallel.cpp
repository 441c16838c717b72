//===- Parallel.cpp - loops over all cores --------------------------------===//

#include "tpsp/Runtime/Reference.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

namespace tpsp::reference::detail {

namespace {

/// Pieces of a loop, which threads take one at a time. Other processes share
/// the cores, so equal shares would wait for the slowest core.
class SharedLoop {
public:
  SharedLoop(int64_t count, int64_t pieces,
             const std::function<void(int64_t, int64_t)> &body)
      : count(count), pieces(pieces), body(body) {}

  /// Takes pieces until none is left; called by every thread.
  void work() noexcept {
    for (int64_t piece; (piece = next.fetch_add(1)) < pieces;) {
      try {
        body(count * piece / pieces, count * (piece + 1) / pieces);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (failure)
      std::rethrow_exception(failure);
  }

private:
  const int64_t count, pieces;
  const std::function<void(int64_t, int64_t)> &body;
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
};

} // namespace

void parallelFor(int64_t count, int64_t costPerItem,
                 const std::function<void(int64_t, int64_t)> &body) {
  // Starting and joining a thread takes about 50 microseconds.
  constexpr int64_t kCostPerPiece = 50000;
  constexpr int64_t kPiecesPerThread = 8;
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const double cost = double(count) * double(std::max<int64_t>(1, costPerItem));
  const int64_t pieces =
      std::min({count, cores * kPiecesPerThread,
                int64_t(std::min(cost / kCostPerPiece, 1e6))});
  if (count <= 0)
    return;
  if (pieces < 2 || cores < 2)
    return body(0, count);

  SharedLoop loop(count, pieces, body);
  std::vector<std::thread> helpers;
  helpers.reserve(cores);
  try {
    while (int64_t(helpers.size()) < std::min(cores, pieces) - 1)
      helpers.emplace_back([&loop] { loop.work(); });
  } catch (const std::system_error &) {
    // With fewer threads than cores, the threads that did start share the work.
  }
  loop.work();
  for (std::thread &helper : helpers)
    helper.join();
  loop.rethrow();
}

} // namespace tpsp::reference::detail
