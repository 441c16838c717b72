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

/// Runs stream 0 on the rank's own thread, at once, with all of the rank's
/// compute threads. Each other stream runs on a thread of its own, with that
/// alone.
class CpuRank final : public BackendRank {
public:
  /// `events` and `collectives` outlive the rank.
  CpuRank(const BackendContext &world, int64_t rank, EventTable &events,
          Collectives<ScratchBuffer> &collectives);

  /// On the rank's thread.
  Status initialize();

  Status run(Call &call) override;
  Status synchronize() override;
  std::string streamActivity() override;
  Status write(int64_t offset, const void *source, int64_t bytes) override;
  Status read(int64_t offset, void *destination, int64_t bytes) override;
  void *hostAddress(int64_t offset) override;

private:
  /// A stream that runs beside the rank's thread.
  struct Lane {
    Lane(const CpuRankParts &parts, WorkerThread<StreamCommand>::Run run)
        : stream(parts, /*threads=*/1), thread(std::move(run)) {}
    CpuStream stream;
    bool adopted = false;
    /// What is running; null if nothing is. Its Call exists until the next
    /// drain has returned.
    std::atomic<const Call *> current{nullptr};
    // The last member: it ends before what it uses goes.
    WorkerThread<StreamCommand> thread;
  };

  /// On a lane's thread.
  void runBeside(Lane &lane, const StreamCommand &command);
  Status guardedRun(Lane &lane, const StreamCommand &command);

  const BackendContext &world;
  const int64_t rank;
  EventTable &events;
  Collectives<ScratchBuffer> &collectives;
  Arena arena;
  /// By event; the rank's thread's own.
  std::vector<int64_t> issuedRecords;
  std::mutex mutex;
  /// The first of a lane.
  Status failure;
  std::unique_ptr<CpuStream> ownStream;
  /// Streams 1, 2, ...
  std::vector<std::unique_ptr<Lane>> lanes;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPURANK_H
