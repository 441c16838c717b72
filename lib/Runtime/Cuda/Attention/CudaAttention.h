/// Attention by cuDNN: one prepared object per command.
///
/// cuDNN is a library that may be there: it is loaded when the first command
/// asks for it. Plans are made with attention in other forms where it is not.
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H

#include "Runtime/Cuda/Core/CudaStream.h"

#include <memory>
#include <vector>

namespace tpsp::rt {

class CudaAttention : public CommandState {
public:
  /// Enqueues the command.
  virtual Status run(CudaStream &stream) = 0;
};

/// OK if there is a cuDNN for what follows; else UNSUPPORTED, in a sentence.
Status findAttentionLibrary();

/// What the attention commands of a rank share. Null until the first of them.
class CudaAttentionContext {
public:
  virtual ~CudaAttentionContext() = default;
};

/// Asks cuDNN how, once. `queryStart`: this rank's. `buffers`: the command's,
/// in its order, on the device that is the thread's. UNSUPPORTED if there is no
/// cuDNN, or it cannot.
Status prepareCudaAttention(const AttentionCommand &command, bool isGradient,
                            int64_t queryStart,
                            const std::vector<std::byte *> &buffers,
                            std::shared_ptr<CudaAttentionContext> &context,
                            std::unique_ptr<CudaAttention> &out);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDAATTENTION_H
