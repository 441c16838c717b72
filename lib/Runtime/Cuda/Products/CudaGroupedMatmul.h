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
  /// `firstGroup` is the number of this rank's first matrix. `wideBlocks` is
  /// the number of blocks that warpgroup products keep busy on the rank's GPU,
  /// or 0 if it has no such products.
  Status prepare(const GroupedMatmulCommand &command, int64_t firstGroup,
                 const std::vector<std::byte *> &buffers, int64_t wideBlocks);

  /// Enqueues the command.
  Status run(const BuiltinKernels &kernels, CudaStream &stream);

private:
  void addLoops(const std::vector<MatmulLoop> &loops, const int64_t *idStrides);
  bool canBeWide() const;
  Status count();

  int64_t dtype = 0, orderBytes = 0;
  /// Whether k is contiguous.
  bool alongA = false, alongB = false;
  /// The blocks of the second pass if it uses warpgroup products, otherwise 0.
  int64_t wideBlocks = 0;
  GroupedArguments arguments = {};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_PRODUCTS_CUDAGROUPEDMATMUL_H
