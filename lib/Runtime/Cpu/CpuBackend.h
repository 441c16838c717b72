/// The default backend. Ranks are threads of this process, arenas are ordinary
/// memory, collectives read the arenas of other ranks, and matmuls are
/// oneDNN's.
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
  /// By rank. The backend owns the tables because abort() may be called before
  /// a rank is created.
  std::vector<std::unique_ptr<EventTable>> events;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUBACKEND_H
