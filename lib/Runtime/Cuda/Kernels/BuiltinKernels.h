/// The backend's built-in kernels (DeviceKernels.cu), launched by what they do.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H
#define TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H

#include "DeviceKernelTypes.h"
#include "KernelImage.h"
#include "Runtime/Core/PeerPieces.h"

#include <cstddef>
#include <vector>

namespace tpsp::rt {

/// One for the whole process: a library is loaded on each GPU as it is used
/// there.
class BuiltinKernels {
public:
  Status load();

  /// Brings all of them to the thread's GPU. Else a kernel's first launch
  /// would, and wait until the GPU is idle: for ever behind a collective of
  /// NCCL whose other ranks do likewise.
  Status bringToDevice() const;

  /// One call of cudaMemcpyAsync where both sides are dense.
  Status copy(const StridedCopy &copy, cudaStream_t stream) const;

  /// `dtype` and `reduction` are valid. At most maxSources sources.
  Status combine(int64_t dtype, int64_t reduction,
                 const CombineArguments &arguments, cudaStream_t stream) const;

  /// To `dtype`, a floating-point type of 16 bits.
  Status round(int64_t dtype, const RoundArguments &arguments,
               cudaStream_t stream) const;

  /// For floating-point types.
  Status finish(int64_t dtype, const EpilogueArguments &arguments,
                cudaStream_t stream) const;
  /// Two passes, with `partsOfSum` partial sums for each result, of 8 bytes at
  /// most.
  Status sum(int64_t dtype, const OperandSumArguments &arguments,
             cudaStream_t stream) const;
  static int64_t partsOfSum(int64_t kept, int64_t summed);

  /// Both passes. For floating-point types; `alongA` and `alongB`: whether k is
  /// contiguous.
  Status multiplyGrouped(int64_t dtype, bool alongA, bool alongB,
                         const GroupedArguments &arguments,
                         cudaStream_t stream) const;

private:
  /// With `items` threads, or as many as fill a GPU.
  template <typename Arguments>
  Status launch(cudaKernel_t kernel, const Arguments &arguments, int64_t items,
                cudaStream_t stream) const;
  /// With a block for each of `units`, or as many as a grid may have.
  template <typename Arguments>
  Status launchBlocks(cudaKernel_t kernel, const Arguments &arguments,
                      int64_t units, int threads, cudaStream_t stream) const;

  KernelImage image;
  std::vector<cudaKernel_t> combineKernels, copyKernels, epilogueKernels,
      partsKernels, sumKernels, roundKernels, groupedKernels, orderKernels;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H
