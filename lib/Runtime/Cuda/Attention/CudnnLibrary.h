/// Loads cuDNN when it is first needed. It is never linked, since a machine may
/// have CUDA without cuDNN.
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H

#include "Runtime/Cuda/Core/CudaCheck.h"

#include <cudnn_graph.h>

namespace tpsp::rt {

/// Loads libcudnn.so.9, once in a process. UNSUPPORTED, with a sentence, if it
/// is missing or older than the graphs require. Callable from any thread.
Status loadCudnn();

/// The library's version, "9.19.0". Valid after it is loaded.
std::string cudnnVersion();
/// Whether the loaded cuDNN has this version number, such as 91900, or a later.
bool isCudnnSince(size_t version);

/// cuDNN's context of a GPU, used by one thread at a time.
class CudnnHandle {
public:
  CudnnHandle() = default;
  CudnnHandle(const CudnnHandle &) = delete;
  ~CudnnHandle();

  /// Called once, after loadCudnn, for the thread's current device.
  Status create();
  Status setStream(cudaStream_t stream);
  cudnnHandle_t get() const { return handle; }

private:
  cudnnHandle_t handle = nullptr;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H
