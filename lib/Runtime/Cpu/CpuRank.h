/// One rank of the CPU backend.
#ifndef TPSP_RUNTIME_CPU_CPURANK_H
#define TPSP_RUNTIME_CPU_CPURANK_H

#include "Arena.h"
#include "CpuStream.h"

#include <memory>
#include <mutex>
#include <vector>

namespace tpsp::rt {

/// Runs stream 0 on the rank's own thread, at once, with all of the rank's
/// compute threads; each other stream on a thread of its own, with that alone.
class CpuRank final : public BackendRank {
public:
  /// `events` and `collectives` outlive the rank.
  CpuRank(const BackendContext &world, int64_t rank, EventTable &events,
          Collectives &collectives);

  /// On the rank's thread.
  Status initialize();

  Status matmul(Call &call, const MatmulCommand &) override {
    return submit(call);
  }
  Status kernel(Call &call, const KernelCommand &) override {
    return submit(call);
  }
  Status attention(Call &call, const AttentionCommand &) override {
    return submit(call);
  }
  Status attentionGradient(Call &call, const AttentionCommand &) override {
    return submit(call);
  }
  Status slice(Call &call, const ShardCommand &) override {
    return submit(call);
  }
  Status allReduce(Call &call, const AllReduceCommand &) override {
    return submit(call);
  }
  Status allGather(Call &call, const ShardCommand &) override {
    return submit(call);
  }
  Status reduceScatter(Call &call, const ShardCommand &) override {
    return submit(call);
  }
  Status allToAll(Call &call, const AllToAllCommand &) override {
    return submit(call);
  }
  Status permute(Call &call, const PermuteCommand &) override {
    return submit(call);
  }
  Status eventRecord(Call &call, const EventCommand &command) override {
    return submit(call, ++issuedRecords[command.event]);
  }
  Status eventWait(Call &call, const EventCommand &command) override {
    return submit(call, issuedRecords[command.event]);
  }
  Status synchronize() override;
  std::string streamActivity() override;
  Status write(int64_t offset, const void *source, int64_t bytes) override;
  Status read(int64_t offset, void *destination, int64_t bytes) override;
  void *hostAddress(int64_t offset) override;

private:
  /// A stream that runs beside the rank's thread.
  struct Lane {
    Lane(const CpuRankParts &parts, StreamThread::Run run)
        : stream(parts, /*threads=*/1), thread(std::move(run)) {}
    CpuStream stream;
    bool adopted = false;
    // The last member: it ends before what it uses goes.
    StreamThread thread;
  };

  Status submit(Call &call, int64_t record = 0);
  /// On a lane's thread.
  void runBeside(Lane &lane, const StreamCommand &command);
  Status guardedRun(Lane &lane, const StreamCommand &command);

  const BackendContext &world;
  const int64_t rank;
  EventTable &events;
  Collectives &collectives;
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
