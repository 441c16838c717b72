/// Memory of a GPU.
#ifndef TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H
#define TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H

#include "CudaCheck.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tpsp::rt {

/// One allocation, of the device that was current when it was made. Aligned to
/// 256 bytes.
class DeviceMemory {
public:
  /// While it has none. `what` and `consumers` (WorldConfig::arenaConsumers)
  /// are for the refusal, which has the bytes wanted and free.
  Status allocate(int64_t wanted, const char *what,
                  const std::string &consumers = {});

  void free() {
    memory.reset();
    size = 0;
  }

  std::byte *data() const { return memory.get(); }
  int64_t bytes() const { return size; }

private:
  struct Free {
    // A failure here is one that a command has met before.
    void operator()(std::byte *bytes) const { (void)cudaFree(bytes); }
  };

  std::unique_ptr<std::byte, Free> memory;
  int64_t size = 0;
};

/// Memory that the commands of one stream use one after another. Grows to what
/// is wanted while commands are used for the first time. What it outgrew is
/// freed, unless a captured graph may name it.
class DeviceScratch {
public:
  /// At least `bytes` bytes, whose content is anything; null for none. Waits
  /// for `stream`, whose memory it is, before it frees any.
  Status reserve(int64_t bytes, cudaStream_t stream, std::byte *&out);

  /// What is there now stays: a graph is captured.
  void keep() { isNamed = true; }

private:
  Status release(cudaStream_t stream);

  DeviceMemory block;
  bool isNamed = false;
  std::vector<DeviceMemory> outgrown;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H
