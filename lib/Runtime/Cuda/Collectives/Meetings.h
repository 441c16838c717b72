/// Meetings of ranks on the host. Ranks check that all of them make the same
/// call before the GPU waits for it. Ranks that share a GPU exchange addresses.
/// Every meeting is bounded by the world's timeout. TIMEOUT names the missing
/// ranks, INVALID the ranks that make another call.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_MEETINGS_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_MEETINGS_H

#include "Runtime/Core/Rendezvous.h"

#include "tpsp/Runtime/Transport.h"

namespace tpsp::rt {

class Meetings {
public:
  virtual ~Meetings() = default;

  /// Returns when rank `self` and all others of `ranks` (ascending) have come
  /// with this call.
  virtual Status meet(const Call &call, int64_t self,
                      const std::vector<int64_t> &ranks) = 0;

  /// The same; also sets `all` to whether every rank passed `yes`.
  virtual Status agree(const Call &call, int64_t self,
                       const std::vector<int64_t> &ranks, bool yes,
                       bool &all) = 0;

  /// Makes meetings, pending and later, return ABORTED. Callable from any
  /// thread.
  virtual void abort() = 0;
};

/// Meetings of threads of this process.
class ThreadMeetings final : public Meetings {
public:
  explicit ThreadMeetings(const BackendContext &world) : places(world) {}

  Status meet(const Call &call, int64_t self,
              const std::vector<int64_t> &ranks) override;
  Status agree(const Call &call, int64_t self,
               const std::vector<int64_t> &ranks, bool yes, bool &all) override;
  void abort() override { places.abort(); }

  MeetingPlaces places;
};

/// Meetings of processes with one rank each. A rank sends a message to each
/// other rank; the message's tag is a hash of the call.
class ProcessMeetings final : public Meetings {
public:
  explicit ProcessMeetings(const BackendContext &world) : world(world) {}

  Status meet(const Call &call, int64_t self,
              const std::vector<int64_t> &ranks) override {
    bool all = false;
    return agree(call, self, ranks, true, all);
  }
  Status agree(const Call &call, int64_t self,
               const std::vector<int64_t> &ranks, bool yes, bool &all) override;
  void abort() override { world.config.transport->abort(); }

private:
  const BackendContext &world;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_MEETINGS_H
