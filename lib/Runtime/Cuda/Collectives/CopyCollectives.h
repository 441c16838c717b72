/// Collectives between ranks that share a GPU, and collectives of a single
/// rank. They are copies and reductions on the GPU.
///
/// All ranks issue collectives in the same order. They meet on the host when
/// they issue one, and exchange addresses and events. Each then enqueues its
/// own share (PeerCollectives.h) after the others' events:
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
  /// `meetings` is null if all groups have one rank.
  CopyCollectives(const BuiltinKernels &kernels, ThreadMeetings *meetings)
      : kernels(kernels), meetings(meetings) {}

  Status run(Call &call, const StreamUse<CudaStream> &use) override;

private:
  const BuiltinKernels &kernels;
  ThreadMeetings *meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_COPYCOLLECTIVES_H
