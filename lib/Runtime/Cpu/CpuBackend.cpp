#include "CpuBackend.h"

#include "CpuRank.h"
#include "SharedMemoryCollectives.h"

#include "tpsp/Runtime/BuiltinBackends.h"

namespace tpsp::rt {

void registerCpuBackend() {
  registerBackend(
      "cpu",
      [](const BackendContext &world, std::unique_ptr<Backend> &out) -> Status {
        if (Status status =
                checkMemory(world.mesh.numRanks(), world.config.arenaBytes);
            !status.ok())
          return status;
        out = std::make_unique<CpuBackend>(
            world, std::make_unique<SharedMemoryCollectives>(world));
        return {};
      });
}

CpuBackend::CpuBackend(const BackendContext &world,
                       std::unique_ptr<Collectives> given)
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
