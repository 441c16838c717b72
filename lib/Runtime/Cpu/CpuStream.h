/// Runs the commands of one stream of a rank, one at a time, on the stream's
/// thread.
#ifndef TPSP_RUNTIME_CPU_CPUSTREAM_H
#define TPSP_RUNTIME_CPU_CPUSTREAM_H

#include "../Core/Collectives.h"
#include "EventTable.h"
#include "ScratchBuffer.h"

namespace tpsp::rt {

/// The parts of a rank that its streams share. They outlive the streams.
struct CpuRankParts {
  const BackendContext &world;
  int64_t rank;
  std::byte *arena;
  EventTable &events;
  Collectives<ScratchBuffer> &collectives;
};

/// A command on its way to a stream.
struct StreamCommand {
  Call *call = nullptr;
  /// For event commands: the number of the event's record (EventTable.h).
  int64_t record = 0;
};

class CpuStream {
public:
  /// `threads` is the number of threads that a command may use, including this
  /// one.
  CpuStream(const CpuRankParts &parts, int threads)
      : parts(parts), threads(threads) {}

  /// Called once, on the stream's thread, before the first command.
  void adoptThread() const;

  /// Runs a command to its end and tells the world's observer.
  Status run(const StreamCommand &command);

private:
  struct Performer;

  Status matmul(Call &call, const MatmulCommand &command);
  Status matmulWithEpilogue(Call &call, const MatmulCommand &command);
  Status groupedMatmul(Call &call, const GroupedMatmulCommand &command);
  template <typename Command>
  Status attention(Call &call, const Command &command);
  Status kernel(Call &call, const KernelCommand &command);

  std::vector<std::byte *> addresses(const Call &call) const;
  std::byte *buffer(const Call &call, size_t index) const {
    return parts.arena + call.buffers[index];
  }

  const CpuRankParts parts;
  const int threads;
  ScratchBuffer scratch;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_CPUSTREAM_H
