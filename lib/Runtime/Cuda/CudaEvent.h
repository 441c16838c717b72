/// An event of a GPU.
#ifndef TPSP_RUNTIME_CUDA_CUDAEVENT_H
#define TPSP_RUNTIME_CUDA_CUDAEVENT_H

#include "CudaCheck.h"

#include <utility>

namespace tpsp::rt {

class CudaEvent {
public:
  CudaEvent() = default;
  CudaEvent(CudaEvent &&other) noexcept
      : event(std::exchange(other.event, nullptr)) {}
  CudaEvent &operator=(CudaEvent &&) = delete;
  ~CudaEvent() {
    if (event)
      (void)cudaEventDestroy(event);
  }

  /// Once, on the GPU that is current.
  Status create(bool isTimed = false) {
    TPSP_CUDA(cudaEventCreateWithFlags, &event,
              isTimed ? cudaEventDefault : cudaEventDisableTiming);
    return {};
  }

  bool exists() const { return event; }
  cudaEvent_t get() const { return event; }

private:
  cudaEvent_t event = nullptr;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDAEVENT_H
