/// What the ranks of a CUDA world share.
#ifndef TPSP_RUNTIME_CUDA_CUDAWORLD_H
#define TPSP_RUNTIME_CUDA_CUDAWORLD_H

#include "Runtime/Cuda/Collectives/Meetings.h"
#include "Runtime/Cuda/Core/DeviceChoice.h"
#include "Runtime/Cuda/Kernels/BuiltinKernels.h"

#include <atomic>
#include <memory>

namespace tpsp::rt {

struct CudaWorld {
  const BackendContext &context;
  DeviceChoice devices;
  BuiltinKernels builtinKernels;
  /// Images of the kernels of plans.
  KernelImages images;
  /// Where ranks meet: threads, or processes, which have no `threads`.
  std::unique_ptr<Meetings> meetings;
  ThreadMeetings *threads = nullptr;
  std::atomic<bool> aborted{false};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDAWORLD_H
