/// A rank's NCCL communicators: one of the whole world, and one for each group
/// on each stream. The latter are split from the former when the first command
/// needs them.
///
/// Creating a communicator waits in NCCL for all ranks of the world, without a
/// timeout. So the ranks first meet on the host. Then NCCL is called on a
/// thread of its own, which is abandoned if a rank fails meanwhile. Every
/// rank's plan has the same commands in the same order, so all ranks make the
/// same splits. Stages have orders of their own, so the communicators of their
/// plans are made before the first step.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H

#include "Meetings.h"
#include "Runtime/Cuda/Core/DeviceChoice.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace tpsp::rt {

class NcclCommunicators {
public:
  /// `device` is the rank's GPU. `aborted` is set when the run has failed
  /// somewhere.
  NcclCommunicators(const BackendContext &world, int64_t rank, int device,
                    Meetings &meetings, const std::atomic<bool> &aborted)
      : world(world), rank(rank), device(device), meetings(meetings),
        aborted(aborted) {}
  NcclCommunicators(const NcclCommunicators &) = delete;
  ~NcclCommunicators();

  /// Called on the rank's thread, with its GPU current.
  Status create(const ncclUniqueId &id);

  /// Makes the communicators of these uses, except of those whose key it has
  /// seen. All ranks of the world make the call.
  Status prepare(const std::vector<GroupUse> &uses);

  /// The communicator of a group, in its order, on a stream; null if there is
  /// none yet.
  ncclComm_t known(int64_t stream, const RankGroup &group) const;

  /// Finds the communicator of the call's group, in the group's order, on the
  /// call's stream. Makes it if there is none.
  Status find(const Call &call, ncclComm_t &out);

  /// Returns an error that NCCL has reported asynchronously.
  Status poll() const;

  /// Makes NCCL's kernels on the GPU end soon. The communicators must not be
  /// used afterwards. NCCL then waits until no graph has kernels of the
  /// communicators, so this function returns before NCCL is done.
  void beginAbort();
  /// Called after beginAbort, when the graphs are destroyed. Waits for NCCL, at
  /// most as long as a collective may take.
  void endAbort();

private:
  using Clock = std::chrono::steady_clock;
  struct Errand;
  struct Attempt;

  Status meetAll(const Call &call);
  /// Splits the world. Ranks without a group take part, too.
  Status split(int64_t stream, const RankGroup &group);

  /// Calls `make` on a thread of its own. TIMEOUT or ABORTED if it does not
  /// return in time.
  using Make = std::function<Status(ncclComm_t &)>;
  Status makeBounded(Make make, ncclComm_t &out);
  static void abortTogether(const std::vector<ncclComm_t> &communicators,
                            const std::vector<std::shared_ptr<Attempt>> &users,
                            Clock::time_point end);
  /// The time at which a wait that begins now ends.
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
  /// In the order of creation, which is the same on all ranks. They are
  /// destroyed in reverse order, since NCCL may wait for the other ranks there.
  std::vector<Group> groups;
  /// The keys of the uses that are prepared.
  std::set<std::vector<int64_t>> prepared;
  /// Attempts that makeBounded abandoned.
  std::vector<std::shared_ptr<Attempt>> abandoned;
  /// The abort that beginAbort has begun.
  std::shared_ptr<Errand> ending;
  std::thread helper;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOMMUNICATORS_H
