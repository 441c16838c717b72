/// State that the ranks of a CUDA world share.
#ifndef TPSP_RUNTIME_CUDA_CUDAWORLD_H
#define TPSP_RUNTIME_CUDA_CUDAWORLD_H

#include "Runtime/Cuda/Collectives/Meetings.h"
#include "Runtime/Cuda/Collectives/TransferPost.h"
#include "Runtime/Cuda/Core/DeviceChoice.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

#include <atomic>
#include <memory>

namespace tpsp::rt {

struct CudaWorld {
  const BackendContext &context;
  DeviceChoice devices;
  BuiltinKernels builtinKernels;
  /// Images of the plans' kernels.
  KernelImages images;
  /// Meetings of the ranks: of threads, or of processes, for which `threads` is
  /// null.
  std::unique_ptr<Meetings> meetings;
  ThreadMeetings *threads = nullptr;
  std::unique_ptr<TransferPost> post;
  std::atomic<bool> aborted{false};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDAWORLD_H
