/// The backend's built-in kernels (DeviceKernels.cu), with a launch function
/// for each purpose.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H
#define TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H

#include "DeviceKernelTypes.h"
#include "KernelImage.h"
#include "Runtime/Core/PeerPieces.h"

#include <cstddef>
#include <vector>

namespace tpsp::rt {

/// One object for the whole process. A library is loaded on each GPU when it is
/// first used there.
class BuiltinKernels {
public:
  Status load();

  /// Loads all kernels onto the thread's GPU. Otherwise a kernel's first launch
  /// would do so and wait until the GPU is idle. After an NCCL collective whose
  /// other ranks do the same, that wait would never end. Says whether it
  /// has products by warpgroups.
  Status bringToDevice(int device, bool &hasWarpgroups) const;

  /// Uses one cudaMemcpyAsync if both sides are dense.
  Status copy(const StridedCopy &copy, cudaStream_t stream) const;

  /// `dtype` and `reduction` must be valid, with at most maxSources sources.
  Status combine(int64_t dtype, int64_t reduction,
                 const CombineArguments &arguments, cudaStream_t stream) const;

  /// Rounds to `dtype`, a 16-bit floating-point type.
  Status round(int64_t dtype, const RoundArguments &arguments,
               cudaStream_t stream) const;

  /// Applies an epilogue. For floating-point types.
  Status finish(int64_t dtype, const EpilogueArguments &arguments,
                cudaStream_t stream) const;
  /// Sums in two passes, with `partsOfSum` partial sums of at most 8 bytes for
  /// each result.
  Status sum(int64_t dtype, const OperandSumArguments &arguments,
             cudaStream_t stream) const;
  static int64_t partsOfSum(int64_t kept, int64_t summed);

  /// Runs both passes. For floating-point types. `alongA` and `alongB` say
  /// whether k is contiguous. `isWide`: with products by warpgroups.
  Status multiplyGrouped(int64_t dtype, bool alongA, bool alongB,
                         const GroupedArguments &arguments, bool isWide,
                         cudaStream_t stream) const;

  /// Writes which keys of an attention count, as numbers or as a mask.
  Status numberSegments(const SegmentsArguments &arguments,
                        cudaStream_t stream) const;
  Status maskSegments(const SegmentsArguments &arguments,
                      cudaStream_t stream) const;
  /// Sets results and statistics of attention's rows without keys.
  Status clearRows(const AttentionRowsArguments &arguments,
                   cudaStream_t stream) const;
  /// Copies statistics, with 0 for rows without keys.
  Status copyStatistic(const AttentionRowsArguments &arguments,
                       cudaStream_t stream) const;

private:
  /// Launches `items` threads, or as many as fill a GPU.
  template <typename Arguments>
  Status launch(cudaKernel_t kernel, const Arguments &arguments, int64_t items,
                cudaStream_t stream) const;
  /// Launches a block for each of `units`, or as many blocks as a grid may
  /// have.
  template <typename Arguments>
  Status launchBlocks(cudaKernel_t kernel, const Arguments &arguments,
                      int64_t units, int threads, cudaStream_t stream,
                      int sharedBytes = 0) const;

  KernelImage image;
  std::vector<cudaKernel_t> combineKernels, copyKernels, epilogueKernels,
      partsKernels, sumKernels, roundKernels, groupedKernels, wideKernels,
      orderKernels, attentionKernels;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_BUILTINKERNELS_H
