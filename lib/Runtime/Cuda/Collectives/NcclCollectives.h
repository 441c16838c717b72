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

  /// Makes the communicators of a plan with stages, and connects the ranks of
  /// its transfers by one byte each on `stream`. The transfers then wait for
  /// nobody on the host. Calls settle() -> Status, which waits for the GPU,
  /// after each. All ranks of the world make the call.
  template <typename Settle>
  Status prepare(const std::vector<GroupUse> &uses, CudaStream &stream,
                 const Settle &settle) {
    // Allocated before the ranks meet, as in run().
    std::byte *byte = nullptr;
    TPSP_TRY(stream.reserveScratch(1, byte));
    TPSP_TRY(communicators.prepare(uses));
    for (const GroupUse &use : uses)
      if (use.isTransfer && use.group.size() > 1) {
        TPSP_TRY(connect(use, byte, stream));
        TPSP_TRY(settle());
      }
    return {};
  }

  /// Whether ranks meet on the host before every collective, not only before
  /// its first use. In the first step of a plan with stages, a rank may load
  /// code between later uses.
  bool meetsAlways = false;

  /// Gives a transfer, whose ranks are connected, its communicator.
  void adopt(Call &call) const;

private:
  Status connect(const GroupUse &use, std::byte *byte,
                 const CudaStream &stream) const;
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
