/// An event of a GPU.
#ifndef TPSP_RUNTIME_CUDA_CORE_CUDAEVENT_H
#define TPSP_RUNTIME_CUDA_CORE_CUDAEVENT_H

#include "CudaCheck.h"

#include <memory>
#include <type_traits>

namespace tpsp::rt {

class CudaEvent {
public:
  /// Called once, with the event's GPU current.
  Status create(bool isTimed = false) {
    cudaEvent_t created = nullptr;
    TPSP_CUDA(cudaEventCreateWithFlags, &created,
              isTimed ? cudaEventDefault : cudaEventDisableTiming);
    event.reset(created);
    return {};
  }

  bool exists() const { return event != nullptr; }
  cudaEvent_t get() const { return event.get(); }

private:
  struct Destroy {
    void operator()(cudaEvent_t event) const { (void)cudaEventDestroy(event); }
  };

  std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy> event;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_CUDAEVENT_H
