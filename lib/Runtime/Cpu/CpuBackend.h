/// The default backend: ranks are threads of this process, arenas ordinary
/// memory, collectives reads of each other's arenas, matmuls oneDNN's.
///
/// Every command runs at once on the rank's thread, whatever its stream:
/// program order is a legal schedule of the streams.
#ifndef TPSP_RUNTIME_CPU_CPUBACKEND_H
#define TPSP_RUNTIME_CPU_CPUBACKEND_H

#include "Arena.h"
#include "Rendezvous.h"
#include "tpsp/Runtime/Backend.h"

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tpsp::rt {

class CpuBackend final : public Backend {
public:
  explicit CpuBackend(const BackendContext &world) : world(world) {}

  Status createRank(int64_t rank, std::unique_ptr<BackendRank> &out) override;
  void abort() override;

  /// The meeting place of these ranks (ascending). One for all orders of a
  /// group, so that ranks that disagree about the order meet and are told.
  Rendezvous &rendezvous(const std::vector<int64_t> &ranks);

private:
  const BackendContext &world;
  std::mutex mutex;
  std::map<std::vector<int64_t>, std::unique_ptr<Rendezvous>> places;
  bool aborted = false;
};

/// Grows on demand and is then kept: scratch memory of one rank. Aligned to 64
/// bytes.
class ScratchBuffer {
public:
  ScratchBuffer() = default;
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  ~ScratchBuffer();

  /// At least `bytes` bytes, whose contents and earlier addresses are lost.
  /// Throws std::bad_alloc.
  std::byte *reserve(size_t bytes);

private:
  std::byte *memory = nullptr;
  size_t size = 0;
};

class CpuRank final : public BackendRank {
public:
  CpuRank(CpuBackend &backend, int threads)
      : backend(backend), threads(threads) {}

  /// Called on the rank's thread.
  Status initialize(int64_t arenaBytes);

  Status matmul(Call &call, const MatmulCommand &command) override;
  Status kernel(Call &call, const KernelCommand &command) override;
  Status slice(Call &call, const ShardCommand &command) override;
  Status allReduce(Call &call, const AllReduceCommand &command) override;
  Status allGather(Call &call, const ShardCommand &command) override;
  Status reduceScatter(Call &call, const ShardCommand &command) override;
  Status allToAll(Call &call, const AllToAllCommand &command) override;
  Status permute(Call &call, const PermuteCommand &command) override;
  Status eventRecord(Call &, const EventCommand &) override { return {}; }
  Status eventWait(Call &, const EventCommand &) override { return {}; }
  Status synchronize() override { return {}; }
  Status write(int64_t offset, const void *source, int64_t bytes) override;
  Status read(int64_t offset, void *destination, int64_t bytes) override;
  void *hostAddress(int64_t offset) override;

private:
  std::byte *buffer(const Call &call, size_t index) const {
    return arena.data() + call.buffers[index];
  }

  CpuBackend &backend;
  const int threads;
  Arena arena;
  ScratchBuffer scratch;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUBACKEND_H
