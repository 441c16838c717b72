/// Matmuls by cuBLASLt, with one prepared object per command.
///
/// cuBLASLt is column-major, and a row-major matrix is its own transpose read
/// column by column. So C = A B becomes C' = B' A': the operands are exchanged,
/// the transpose flags and leading dimensions stay, and nothing is copied.
///
/// The longest of the batch's loops is cuBLASLt's strided batch, in parts if it
/// is very long. The other loops make one call for each point. The loops of
/// `accumulate` also make one call for each step, and steps after the first add
/// to the result. 16-bit results of several steps are summed in f32 in scratch
/// memory and rounded once, as on the CPU.
///
/// An epilogue is cuBLASLt's if it has one for the command. Otherwise a kernel
/// runs after the product, and bf16 results stay in f32 until then.
#ifndef TPSP_RUNTIME_CUDA_PRODUCTS_CUDAMATMUL_H
#define TPSP_RUNTIME_CUDA_PRODUCTS_CUDAMATMUL_H

#include "CublasEpilogue.h"
#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

#include "Runtime/Core/MatmulOffsets.h"

#include <memory>

namespace tpsp::rt {

class CudaMatmul : public CommandState {
public:
  /// Enqueues the command.
  virtual Status run(CudaStream &stream) = 0;
};

/// Asks cuBLASLt for an algorithm, once, and enqueues the command for the first
/// time. If cuBLASLt then refuses the epilogue, the command is tried without
/// it. UNSUPPORTED for integers.
Status beginCudaMatmul(const MatmulCommand &command,
                       const MatmulBuffers &buffers, const CublasHandle &handle,
                       const BuiltinKernels &kernels, CudaStream &stream,
                       std::unique_ptr<CudaMatmul> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_PRODUCTS_CUDAMATMUL_H
