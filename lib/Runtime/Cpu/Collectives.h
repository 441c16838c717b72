/// How the ranks of a CPU world exchange data.
#ifndef TPSP_RUNTIME_CPU_COLLECTIVES_H
#define TPSP_RUNTIME_CPU_COLLECTIVES_H

#include "ScratchBuffer.h"
#include "tpsp/Runtime/Backend.h"

#include <cstddef>

namespace tpsp::rt {

/// Where a call's bytes are on the rank that makes it.
struct StreamMemory {
  /// Of the rank: a call's buffers are offsets into it.
  std::byte *arena = nullptr;
  /// Of the stream: nobody else uses it during the call.
  ScratchBuffer *scratch = nullptr;

  std::byte *buffer(const Call &call, size_t index) const {
    return arena + call.buffers[index];
  }
};

/// The collectives of a world, for all its local ranks and their streams. The
/// methods do what Commands.h says, are called on the thread of the call's
/// stream, and return when the rank's buffers may be used again. Ranks make the
/// collectives of one group on one stream in the same order; those on different
/// streams do not wait for each other. Waiting is bounded by the world's
/// timeout: TIMEOUT names the missing ranks.
class Collectives {
public:
  virtual ~Collectives() = default;

  virtual Status allReduce(Call &call, const AllReduceCommand &command,
                           const StreamMemory &memory) = 0;
  virtual Status allGather(Call &call, const ShardCommand &command,
                           const StreamMemory &memory) = 0;
  virtual Status reduceScatter(Call &call, const ShardCommand &command,
                               const StreamMemory &memory) = 0;
  virtual Status allToAll(Call &call, const AllToAllCommand &command,
                          const StreamMemory &memory) = 0;
  virtual Status permute(Call &call, const PermuteCommand &command,
                         const StreamMemory &memory) = 0;

  /// Makes pending and later calls return ABORTED soon. From any thread, any
  /// number of times.
  virtual void abort() = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_COLLECTIVES_H
