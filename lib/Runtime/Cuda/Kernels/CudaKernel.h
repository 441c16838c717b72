/// Launches kernels of plans: the GPU's form of a command's kernel.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_CUDAKERNEL_H
#define TPSP_RUNTIME_CUDA_KERNELS_CUDAKERNEL_H

#include "KernelImage.h"

#include "tpsp/Runtime/Backend.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tpsp::rt {

/// A launch that lacks only its stream.
class CudaKernel final : public CommandState {
public:
  /// UNSUPPORTED if the plan has no kernels for GPUs. INVALID if a GPU cannot
  /// take one of the kernel's figures. `arena` is the rank's, on `device`.
  Status prepare(const Call &call, const KernelCommand &command,
                 std::byte *arena, int device, KernelImages &images);

  Status launch(cudaStream_t stream);

private:
  /// Keeps `kernel` valid.
  std::shared_ptr<KernelImage> image;
  cudaKernel_t kernel = nullptr;
  /// The kernel's parameters, all of 64 bits, and the address of each.
  std::vector<uint64_t> values;
  std::vector<void *> parameters;
  unsigned blocks = 0, parts = 1, threads = 0;
  size_t sharedBytes = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_CUDAKERNEL_H
