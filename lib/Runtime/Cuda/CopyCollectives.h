/// Collectives between ranks that share a GPU, and those of one rank alone:
/// copies and additions on the GPU, and nothing else.
///
/// Ranks meet on the host where they issue a collective, which all do in the
/// same order, and learn each other's addresses and events. Each then enqueues
/// its own share behind the others' events:
///
///   1. record "ready"; meet; wait (on the stream) for the others' "ready":
///      everybody's sources may be read.
///   2. enqueue the copies and additions of this rank; record "done".
///   3. meet; wait for the others' "done": nobody reads any more.
///
/// An all_reduce has a step in between: each rank combines its part of every
/// tensor, then fetches the others' parts.
///
/// Elements combine in the order of the group and 16-bit ones in f32, as on the
/// CPU: the results are the same bits.
#ifndef TPSP_RUNTIME_CUDA_COPYCOLLECTIVES_H
#define TPSP_RUNTIME_CUDA_COPYCOLLECTIVES_H

#include "CudaCollectives.h"
#include "Meetings.h"

namespace tpsp::rt {

class CopyCollectives final : public CudaCollectives {
public:
  /// `meetings`: null if all groups are of one rank.
  CopyCollectives(const OwnKernels &kernels, ThreadMeetings *meetings)
      : kernels(kernels), meetings(meetings) {}

  Status allReduce(Call &call, const AllReduceCommand &command,
                   const StreamUse &use) override;
  Status allGather(Call &call, const ShardCommand &command,
                   const StreamUse &use) override;
  Status reduceScatter(Call &call, const ShardCommand &command,
                       const StreamUse &use) override;
  Status allToAll(Call &call, const AllToAllCommand &command,
                  const StreamUse &use) override;
  Status permute(Call &call, const PermuteCommand &command,
                 const StreamUse &use) override;

private:
  class Meeting;
  /// That of the call, which keeps it.
  Status meetingOf(Call &call, const StreamUse &use, Meeting *&out);
  Status reduceOwnPart(const Call &call, const AllReduceCommand &command,
                       const Meeting &meeting, const StreamUse &use);
  Status copyOtherParts(const Call &call, const AllReduceCommand &command,
                        const Meeting &meeting, const StreamUse &use);

  const OwnKernels &kernels;
  ThreadMeetings *meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COPYCOLLECTIVES_H
