/// Collectives between GPUs, by NCCL.
///
/// NCCL's buffers are dense. Where a command's are not, a built-in kernel packs
/// pieces into scratch memory before and unpacks them behind. It works at the
/// memory's rate, several times that of the links. Where a command has few,
/// long runs (fewRuns, longRun), there is instead a call for each run, in one
/// group. The launch costs as much as the copy then.
///
/// NCCL rounds what it adds up in the element's type. A sum in bf16 over n
/// ranks is rounded up to n - 1 times, where the CPU rounds once.
#ifndef TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOLLECTIVES_H
#define TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOLLECTIVES_H

#include "NcclCommunicators.h"
#include "Runtime/Core/Collectives.h"
#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

namespace tpsp::rt {

class NcclCollectives final : public Collectives<CudaStream> {
public:
  NcclCollectives(const BuiltinKernels &kernels,
                  NcclCommunicators &communicators, Meetings &meetings)
      : kernels(kernels), communicators(communicators), meetings(meetings) {}

  Status run(Call &call, const StreamUse<CudaStream> &use) override;

private:
  /// The communicator of the call's group. On the first use of a call its ranks
  /// meet on the host. So a missing rank and different calls are told before
  /// the GPU waits.
  Status communicatorOf(Call &call, ncclComm_t &out);

  const BuiltinKernels &kernels;
  NcclCommunicators &communicators;
  Meetings &meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOLLECTIVES_H
