/// Grouped matmuls by built-in kernels. Only the GPU knows how many rows belong
/// to each matrix. The first pass sorts the rows, the second multiplies them
/// (GroupedProduct.h). The sorted order is in the stream's scratch memory.
#ifndef TPSP_RUNTIME_CUDA_PRODUCTS_CUDAGROUPEDMATMUL_H
#define TPSP_RUNTIME_CUDA_PRODUCTS_CUDAGROUPEDMATMUL_H

#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

namespace tpsp::rt {

class CudaGroupedMatmul final : public CommandState {
public:
  /// `firstGroup` is the number of this rank's first matrix. `hasWarpgroups`
  /// says whether the rank's GPU has products by warpgroups.
  Status prepare(const GroupedMatmulCommand &command, int64_t firstGroup,
                 const std::vector<std::byte *> &buffers, bool hasWarpgroups);

  /// Enqueues the command.
  Status run(const BuiltinKernels &kernels, CudaStream &stream);

private:
  void addLoops(const std::vector<MatmulLoop> &loops, const int64_t *idStrides);
  bool canBeWide() const;
  Status count();

  int64_t dtype = 0, orderBytes = 0;
  /// Whether k is contiguous.
  bool alongA = false, alongB = false;
  /// Whether the second pass has products by warpgroups.
  bool isWide = false;
  GroupedArguments arguments = {};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_PRODUCTS_CUDAGROUPEDMATMUL_H
