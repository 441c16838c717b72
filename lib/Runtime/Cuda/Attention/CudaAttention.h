/// Attention by cuDNN, with one prepared object per command.
///
/// cuDNN is optional: it is loaded when the first command needs it. Without
/// cuDNN, plans are made with other forms of attention.
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H

#include "Runtime/Cuda/Core/CudaStream.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

#include <memory>
#include <vector>

namespace tpsp::rt {

class CudaAttention : public CommandState {
public:
  /// Enqueues the command.
  virtual Status run(const BuiltinKernels &kernels, CudaStream &stream) = 0;
};

/// OK if a usable cuDNN is installed; otherwise UNSUPPORTED, with a sentence.
Status findAttentionLibrary();

/// State that the attention commands of a rank share. Null until the first
/// command.
class CudaAttentionContext {
public:
  virtual ~CudaAttentionContext() = default;
};

/// Chooses and builds cuDNN's engine for a command; called once for each.
/// `queryStart` is the position of this rank's queries. `buffers` are in the
/// command's order, on the thread's current device. UNSUPPORTED if there is no
/// cuDNN, or if it does not support the command.
Status prepareCudaAttention(const AttentionCommand &command, bool isGradient,
                            int64_t queryStart,
                            const std::vector<std::byte *> &buffers,
                            std::shared_ptr<CudaAttentionContext> &context,
                            std::unique_ptr<CudaAttention> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H
