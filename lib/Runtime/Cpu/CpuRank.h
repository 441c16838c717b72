/// One rank of the CPU backend.
#ifndef TPSP_RUNTIME_CPU_CPURANK_H
#define TPSP_RUNTIME_CPU_CPURANK_H

#include "../Core/WorkerThread.h"
#include "Arena.h"
#include "CpuStream.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace tpsp::rt {

/// Runs stream 0 immediately on the rank's own thread, with all of the rank's
/// compute threads. Each other stream has one thread of its own and computes on
/// that thread alone.
class CpuRank final : public BackendRank {
public:
  /// `events` and `collectives` outlive the rank.
  CpuRank(const BackendContext &world, int64_t rank, EventTable &events,
          Collectives<ScratchBuffer> &collectives);

  /// Called on the rank's thread.
  Status initialize();

  Status run(Call &call) override;
  Status synchronize() override;
  std::string streamActivity() override;
  Status write(int64_t offset, const void *source, int64_t bytes) override;
  Status read(int64_t offset, void *destination, int64_t bytes) override;
  void *hostAddress(int64_t offset) override;

private:
  /// A stream that runs on a thread of its own.
  struct Lane {
    Lane(const CpuRankParts &parts, WorkerThread<StreamCommand>::Run run)
        : stream(parts, /*threads=*/1), thread(std::move(run)) {}
    CpuStream stream;
    bool adopted = false;
    /// The running command; null if there is none. Its Call exists until the
    /// next drain has returned.
    std::atomic<const Call *> current{nullptr};
    // The last member, so that the thread ends before the members it uses are
    // destroyed.
    WorkerThread<StreamCommand> thread;
  };

  /// Called on a lane's thread.
  void runBeside(Lane &lane, const StreamCommand &command);
  Status guardedRun(Lane &lane, const StreamCommand &command);

  const BackendContext &world;
  const int64_t rank;
  EventTable &events;
  Collectives<ScratchBuffer> &collectives;
  Arena arena;
  /// By event: the number of records issued. Only the rank's thread uses it.
  std::vector<int64_t> issuedRecords;
  std::mutex mutex;
  /// The first failure of a lane.
  Status failure;
  std::unique_ptr<CpuStream> ownStream;
  /// Streams 1, 2, ...
  std::vector<std::unique_ptr<Lane>> lanes;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPURANK_H
