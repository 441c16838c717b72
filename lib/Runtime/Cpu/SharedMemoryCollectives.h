/// Collectives between threads of one process: ranks meet and read each other's
/// arenas directly; nothing is staged.
#ifndef TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H
#define TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H

#include "../Core/Rendezvous.h"
#include "Collectives.h"

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tpsp::rt {

struct MeetingState;

class SharedMemoryCollectives final : public Collectives {
public:
  explicit SharedMemoryCollectives(const BackendContext &world)
      : world(world) {}

  Status allReduce(Call &call, const AllReduceCommand &command,
                   const StreamMemory &memory) override;
  Status allGather(Call &call, const ShardCommand &command,
                   const StreamMemory &memory) override;
  Status reduceScatter(Call &call, const ShardCommand &command,
                       const StreamMemory &memory) override;
  Status allToAll(Call &call, const AllToAllCommand &command,
                  const StreamMemory &memory) override;
  Status permute(Call &call, const PermuteCommand &command,
                 const StreamMemory &memory) override;
  void abort() override;

private:
  /// Where the call's ranks meet, kept with the call.
  MeetingState &meeting(Call &call);

  /// The meeting place of these ranks (ascending) on a stream. One for all
  /// orders of a group, so that ranks that disagree about the order meet and
  /// are told.
  Rendezvous &rendezvous(int64_t stream, const std::vector<int64_t> &ranks);

  const BackendContext &world;
  std::mutex mutex;
  std::map<std::pair<int64_t, std::vector<int64_t>>,
           std::unique_ptr<Rendezvous>>
      places;
  bool aborted = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H
