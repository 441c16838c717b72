#include "CpuBackend.h"

#include "CpuRank.h"
#include "MessageCollectives.h"
#include "ProcessChannels.h"
#include "SharedMemoryCollectives.h"

#include "tpsp/Runtime/BuiltinBackends.h"

namespace tpsp::rt {

/// Makes collectives between the threads of this process or, if the world has
/// several processes, between processes.
static Status
makeCollectives(const BackendContext &world,
                std::unique_ptr<Collectives<ScratchBuffer>> &out) {
  Transport *transport = world.config.transport;
  if (!transport) {
    out = std::make_unique<SharedMemoryCollectives>(world);
    return {};
  }
  auto channels = std::make_shared<ProcessChannels>();
  TPSP_TRY(channels->open(world));
  out = std::make_unique<MessageCollectives>(
      world,
      [channels](int64_t, int64_t stream, const std::vector<int64_t> &ranks) {
        return channels->find(stream, ranks);
      },
      [transport] { transport->abort(); });
  return {};
}

void registerCpuBackend() {
  registerBackend(
      "cpu",
      [](const BackendContext &world, std::unique_ptr<Backend> &out) -> Status {
        Transport *transport = world.config.transport;
        int64_t ranksHere =
            transport ? transport->ranksOnHost() : world.mesh.numRanks();
        TPSP_TRY(checkMemory(ranksHere, world.config.arenaBytes,
                             world.config.arenaConsumers));
        std::unique_ptr<Collectives<ScratchBuffer>> collectives;
        TPSP_TRY(makeCollectives(world, collectives));
        out = std::make_unique<CpuBackend>(world, std::move(collectives));
        return {};
      });
}

CpuBackend::CpuBackend(const BackendContext &world,
                       std::unique_ptr<Collectives<ScratchBuffer>> given)
    : world(world), collectives(std::move(given)) {
  for (int64_t i = 0; i < world.mesh.numRanks(); ++i)
    events.push_back(std::make_unique<EventTable>(world.config.numEvents));
}

Status CpuBackend::createRank(int64_t rank, std::unique_ptr<BackendRank> &out) {
  auto created =
      std::make_unique<CpuRank>(world, rank, *events[rank], *collectives);
  Status status = created->initialize();
  if (status.ok())
    out = std::move(created);
  return status;
}

void CpuBackend::abort() {
  for (const std::unique_ptr<EventTable> &each : events)
    each->abort();
  collectives->abort();
}

} // namespace tpsp::rt
