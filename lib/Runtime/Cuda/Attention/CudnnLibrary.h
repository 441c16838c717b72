/// cuDNN, which is loaded when something first needs it and never linked: a
/// machine may have CUDA and no cuDNN.
#ifndef TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H
#define TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H

#include "Runtime/Cuda/Core/CudaCheck.h"

#include <cudnn_graph.h>

namespace tpsp::rt {

/// Loads libcudnn.so.9, once in a process. UNSUPPORTED, in a sentence, if there
/// is none or it is older than what the graphs were written for. From any
/// thread.
Status loadCudnn();

/// "9.19.0", once it is loaded.
std::string cudnnVersion();

/// cuDNN's context of a GPU, for one thread at a time.
class CudnnHandle {
public:
  CudnnHandle() = default;
  CudnnHandle(const CudnnHandle &) = delete;
  ~CudnnHandle();

  /// Once, after loadCudnn, for the device that is the thread's.
  Status create();
  Status setStream(cudaStream_t stream);
  cudnnHandle_t get() const { return handle; }

private:
  cudnnHandle_t handle = nullptr;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_ATTENTION_CUDNNLIBRARY_H
