/// Transfers between stages through the host.
///
/// In the first step of a plan with stages, commands load code, and the driver
/// may then wait until a GPU is idle. It must not wait for a transfer whose
/// other rank waits like this, too. So transfers of that step are letters,
/// which a sender posts without waiting. Ranks that share a GPU send letters in
/// every step.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_TRANSFERPOST_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_TRANSFERPOST_H

#include "Runtime/Core/WorkerThread.h"

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/Transport.h"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace tpsp::rt {

/// The letters between two ranks on a stream arrive in the order in which they
/// were posted.
class TransferPost {
public:
  virtual ~TransferPost() = default;

  /// Called by all ranks together, before they use a plan's groups.
  virtual Status open(const std::vector<GroupUse> &uses) { return {}; }

  /// Posts the bytes that `call`, a transfer, sends, and returns.
  virtual Status send(const Call &call, std::vector<std::byte> bytes) = 0;

  /// Waits for the bytes that `call` receives; `bytes` has their size. TIMEOUT
  /// names the sender. INVALID if the sender is at another call.
  virtual Status receive(const Call &call, std::vector<std::byte> &bytes) = 0;

  /// Makes receives, pending and later, return ABORTED. Callable from any
  /// thread.
  virtual void abort() = 0;
};

/// Between threads of this process.
class ThreadPost final : public TransferPost {
public:
  explicit ThreadPost(const BackendContext &world) : world(world) {}

  Status send(const Call &call, std::vector<std::byte> bytes) override;
  Status receive(const Call &call, std::vector<std::byte> &bytes) override;
  void abort() override;

private:
  struct Letter {
    int32_t tag;
    std::vector<std::byte> bytes;
  };

  const BackendContext &world;
  std::mutex mutex;
  std::condition_variable changed;
  /// By stream and ranks.
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::deque<Letter>> boxes;
  bool isAborted = false;
};

/// Between processes with one rank each. A thread of this process sends.
class ProcessPost final : public TransferPost {
public:
  explicit ProcessPost(const BackendContext &world)
      : world(world), sender([this](const Item &item) { deliver(*item); }) {}

  Status open(const std::vector<GroupUse> &uses) override;
  Status send(const Call &call, std::vector<std::byte> bytes) override;
  Status receive(const Call &call, std::vector<std::byte> &bytes) override;
  void abort() override { world.config.transport->abort(); }

private:
  /// The bytes that a rank sends for a call. The call outlives the letter.
  struct Letter {
    const Call &call;
    std::vector<std::byte> bytes;
  };
  using Item = std::shared_ptr<Letter>;

  void deliver(Letter &letter);
  /// Sends or receives the bytes on the channel of the call's group.
  Status exchange(const Call &call, std::vector<std::byte> &bytes);

  const BackendContext &world;
  /// By stream and ranks. Each is used in one direction, by one thread.
  std::map<std::pair<int64_t, std::vector<int64_t>>, std::unique_ptr<Channel>>
      channels;
  /// The keys of the uses whose channels are open.
  std::set<std::vector<int64_t>> opened;
  /// Letters that were not delivered. The transport may still read them.
  std::vector<Letter> lost;
  bool isStarted = false;
  WorkerThread<Item> sender;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_TRANSFERPOST_H
