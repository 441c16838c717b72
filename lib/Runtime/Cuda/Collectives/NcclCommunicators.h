/// A rank's NCCL communicators. One is of the whole world. There is one for
/// each group on each stream, split from it when the first command needs it.
///
/// Making one waits for all ranks of the world, in NCCL, which no timeout of
/// ours bounds. So the ranks meet on the host first. Then NCCL is called on a
/// thread of its own, which is left behind if a rank fails meanwhile. Every
/// rank's plan has the same commands in the same order, so that all come to the
/// same split.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H

#include "Meetings.h"
#include "Runtime/Cuda/Core/DeviceChoice.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace tpsp::rt {

class NcclCommunicators {
public:
  /// `device`: the rank's. `aborted`: the run has failed somewhere.
  NcclCommunicators(const BackendContext &world, int64_t rank, int device,
                    Meetings &meetings, const std::atomic<bool> &aborted)
      : world(world), rank(rank), device(device), meetings(meetings),
        aborted(aborted) {}
  NcclCommunicators(const NcclCommunicators &) = delete;
  ~NcclCommunicators();

  /// On the rank's thread, with its GPU current.
  Status create(const ncclUniqueId &id);

  /// That of the call's group, in the group's order, on the call's stream.
  Status find(const Call &call, ncclComm_t &out);

  /// An error that NCCL has met since, by itself.
  Status poll() const;

  /// Ends what waits on the GPU, soon. Nothing may be asked for afterwards.
  /// NCCL then waits until no graph has kernels of the communicators, so this
  /// returns before it is done.
  void beginAbort();
  /// Behind beginAbort, when the graphs are gone: waits for NCCL, for as long
  /// as a collective might take.
  void endAbort();

private:
  using Clock = std::chrono::steady_clock;
  struct Errand;
  struct Attempt;

  Status meetAll(const Call &call);

  /// Calls `make` on a thread of its own; TIMEOUT or ABORTED if it does not
  /// return in time.
  using Make = std::function<Status(ncclComm_t &)>;
  Status makeBounded(Make make, ncclComm_t &out);
  static void abortTogether(const std::vector<ncclComm_t> &communicators,
                            const std::vector<std::shared_ptr<Attempt>> &users,
                            Clock::time_point end);
  /// From now.
  Clock::time_point timeout() const;

  const BackendContext &world;
  const int64_t rank;
  const int device;
  Meetings &meetings;
  const std::atomic<bool> &aborted;
  ncclComm_t everyone = nullptr;
  /// The communicator of a group, in its order, on a stream.
  struct Group {
    int64_t stream;
    std::vector<int64_t> ranks;
    ncclComm_t communicator;
  };
  /// In the order of their making, which is that of all ranks. They go in the
  /// reverse order: NCCL may wait for the others there.
  std::vector<Group> groups;
  /// Left behind by makeBounded.
  std::vector<std::shared_ptr<Attempt>> abandoned;
  /// What beginAbort has begun.
  std::shared_ptr<Errand> ending;
  std::thread helper;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H
