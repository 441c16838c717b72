/// Collectives between GPUs, by NCCL.
///
/// NCCL's buffers are dense. Where a command's are not, pieces are packed into
/// scratch memory before and unpacked from it behind, by the backend's kernel:
/// at the memory's rate, several times that of the links. Only where a command
/// has few, long runs (fewRuns, longRun) is there instead a call for each run,
/// in one group: the launch costs as much as the copy then.
///
/// What NCCL adds up it rounds in the element's type: a sum in bf16 over n
/// ranks is rounded up to n - 1 times, where the CPU rounds once.
#ifndef TPSP_RUNTIME_CUDA_NCCLCOLLECTIVES_H
#define TPSP_RUNTIME_CUDA_NCCLCOLLECTIVES_H

#include "CudaCollectives.h"
#include "NcclCommunicators.h"

namespace tpsp::rt {

class NcclCollectives final : public CudaCollectives {
public:
  NcclCollectives(const OwnKernels &kernels, NcclCommunicators &communicators,
                  Meetings &meetings)
      : kernels(kernels), communicators(communicators), meetings(meetings) {}

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
  /// The communicator of the call's group. On the first use of a call its ranks
  /// meet on the host, so that a missing rank and different calls are told
  /// before the GPU waits.
  Status communicatorOf(Call &call, ncclComm_t &out);

  Status gatherRuns(const Call &call, const ShardCommand &command,
                    ncclComm_t communicator, const StreamUse &use);
  Status gatherPacked(const Call &call, const ShardCommand &command,
                      ncclComm_t communicator, const StreamUse &use);
  Status scatterRuns(const Call &call, const ShardCommand &command,
                     ncclComm_t communicator, const StreamUse &use);
  Status scatterPacked(const Call &call, const ShardCommand &command,
                       ncclComm_t communicator, const StreamUse &use);

  /// Between a side's pieces and dense ones, peer after peer, at `dense`.
  Status pack(const PeerPieces &side, int64_t peers, std::byte *dense,
              cudaStream_t stream) const;
  Status unpack(const std::byte *dense, const PeerPieces &side, int64_t peers,
                cudaStream_t stream) const;

  const OwnKernels &kernels;
  NcclCommunicators &communicators;
  Meetings &meetings;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_NCCLCOLLECTIVES_H
