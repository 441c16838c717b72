/// Collectives between GPUs, by NCCL.
///
/// NCCL's buffers are dense. If a command's are not, a built-in kernel packs
/// pieces into scratch memory before the collective and unpacks them after it.
/// It runs at the memory's bandwidth, several times that of the links. If a
/// command has few, long runs (fewRuns, longRun), one NCCL call is made for
/// each run instead, all in one group. For these the launch would cost as much
/// as the copy.
///
/// NCCL adds up in the element's type and rounds every sum. A sum in bf16 over
/// n ranks is rounded up to n - 1 times; the CPU rounds it once.
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
  /// Finds the communicator of the call's group. On a call's first use, its
  /// ranks meet on the host. So a missing rank or a different call is reported
  /// before the GPU waits.
  Status communicatorOf(Call &call, ncclComm_t &out);

  const BuiltinKernels &kernels;
  NcclCommunicators &communicators;
  Meetings &meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_COLLECTIVES_NCCLCOLLECTIVES_H
