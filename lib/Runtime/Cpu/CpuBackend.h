/// The default backend: ranks are threads of this process, arenas ordinary
/// memory, collectives reads of each other's arenas, matmuls oneDNN's.
#ifndef TPSP_RUNTIME_CPU_CPUBACKEND_H
#define TPSP_RUNTIME_CPU_CPUBACKEND_H

#include "../Core/Collectives.h"
#include "EventTable.h"
#include "ScratchBuffer.h"

#include <memory>
#include <vector>

namespace tpsp::rt {

class CpuBackend final : public Backend {
public:
  CpuBackend(const BackendContext &world,
             std::unique_ptr<Collectives<ScratchBuffer>> collectives);

  Status createRank(int64_t rank, std::unique_ptr<BackendRank> &out) override;
  void abort() override;

private:
  const BackendContext &world;
  std::unique_ptr<Collectives<ScratchBuffer>> collectives;
  /// By rank. Here, because abort() may come before a rank is made.
  std::vector<std::unique_ptr<EventTable>> events;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUBACKEND_H
