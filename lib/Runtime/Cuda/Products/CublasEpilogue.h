/// A matmul's epilogue on a GPU: by cuBLASLt within the product, or by one of
/// the backend's own kernels after it.
///
/// cuBLASLt's product is the transpose of ours, and its first factor is our
/// second. Its bias runs along the rows of its result, which are our columns.
/// Its "bias gradient of A" is our sum over B, and its "bias gradient of B" is
/// our sum over A.
#ifndef TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASEPILOGUE_H
#define TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASEPILOGUE_H

#include "CublasDescriptors.h"
#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

#include "tpsp/Abi/Commands.h"

#include <vector>

namespace tpsp::rt {

/// The starts of a command's buffers: A, B, C, then those of the epilogue.
using MatmulBuffers = std::vector<std::byte *>;

/// Results that are finished together: `blocks` matrices. `source` is in the
/// type of arithmetic (f32 for bf16), or null for zeros.
struct UnfinishedResults {
  /// The position of the first result in C, in elements.
  int64_t offset = 0;
  const std::byte *source = nullptr;
  int64_t blocks = 1, targetBlock = 0, sourceBlock = 0, sourceRow = 0;
};

class CublasEpilogue {
public:
  CublasEpilogue(const MatmulCommand &command, const MatmulBuffers &buffers);

  /// Whether the product is all. It may be added to C.
  bool isEmpty() const { return command.epilogue.empty() || command.adds(); }
  /// Whether the epilogue is a sum over an operand instead of a change of
  /// results.
  bool sumsOperand() const;

  /// Whether to ask cuBLASLt for the epilogue; it may still have no algorithm.
  /// The type must be f32 or 16 bits, there must be a single step, and GELU
  /// must be in 16 bits. Rows of matrices must have a multiple of 8 elements
  /// and begin at multiples of 16 bytes.
  bool fitsLibrary() const;
  /// `batchStride` is the stride of C within one call. `calls` are the loops
  /// around the calls.
  Status describe(MatmulDescriptor &descriptor, int64_t batchStride,
                  const std::vector<MatmulLoop> &calls) const;
  /// Adjusts the descriptor for a call whose results begin at element `offset`
  /// of C.
  Status moveTo(int64_t offset, MatmulDescriptor &descriptor) const;

  /// Applies the epilogue with the built-in kernels.
  Status finish(const UnfinishedResults &results, const BuiltinKernels &kernels,
                cudaStream_t stream) const;
  Status sumOperand(const BuiltinKernels &kernels, CudaStream &stream) const;

private:
  cublasLtEpilogue_t inLibrary() const;
  int64_t leastAligned(const std::vector<MatmulLoop> &calls) const;
  std::byte *matrix() const { return keep ? keep : slope; }

  const MatmulCommand &command;
  const MatmulBuffers &buffers;
  const int64_t width, pitch;
  std::byte *bias = nullptr, *keep = nullptr, *slope = nullptr, *sum = nullptr;
  bool gelu = false;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_PRODUCTS_CUBLASEPILOGUE_H
