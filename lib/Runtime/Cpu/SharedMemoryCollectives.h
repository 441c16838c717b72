/// Collectives between threads of one process. Ranks meet and read each other's
/// arenas directly; nothing is staged.
#ifndef TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H
#define TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H

#include "../Core/Collectives.h"
#include "../Core/Rendezvous.h"
#include "ScratchBuffer.h"

namespace tpsp::rt {

class SharedMemoryCollectives final : public Collectives<ScratchBuffer> {
public:
  explicit SharedMemoryCollectives(const BackendContext &world)
      : places(world) {}

  Status run(Call &call, const StreamUse<ScratchBuffer> &use) override;
  void abort() override { places.abort(); }

private:
  MeetingPlaces places;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SHAREDMEMORYCOLLECTIVES_H
