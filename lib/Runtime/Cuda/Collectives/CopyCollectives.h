/// Collectives between ranks that share a GPU, and those of one rank alone:
/// copies and additions on the GPU, and nothing else.
///
/// Ranks meet on the host where they issue a collective, which all do in the
/// same order, and learn each other's addresses and events. Each then enqueues
/// its own share (PeerCollectives.h) behind the others' events:
///
///   begin    record "ready"; meet; wait (on the stream) for the others'.
///   between  record "reduced"; meet; wait for the others'.
///   end      record "done"; meet; wait for the others'.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_COPYCOLLECTIVES_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_COPYCOLLECTIVES_H

#include "Meetings.h"
#include "Runtime/Core/Collectives.h"
#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

namespace tpsp::rt {

class CopyCollectives final : public Collectives<CudaStream> {
public:
  /// `meetings`: null if all groups are of one rank.
  CopyCollectives(const BuiltinKernels &kernels, ThreadMeetings *meetings)
      : kernels(kernels), meetings(meetings) {}

  Status run(Call &call, const StreamUse<CudaStream> &use) override;

private:
  const BuiltinKernels &kernels;
  ThreadMeetings *meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_COPYCOLLECTIVES_H
