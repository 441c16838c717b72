/// Memory of a GPU.
#ifndef TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H
#define TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H

#include "CudaCheck.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tpsp::rt {

/// One allocation on the device that was current when it was made. Aligned to
/// 256 bytes.
class DeviceMemory {
public:
  /// Must not be called while memory is allocated. `what` and `consumers`
  /// (WorldConfig::arenaConsumers) are for the refusal, which has the bytes
  /// wanted and free.
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
    // If this fails, a command has already failed with the same error.
    void operator()(std::byte *bytes) const { (void)cudaFree(bytes); }
  };

  std::unique_ptr<std::byte, Free> memory;
  int64_t size = 0;
};

/// Memory that the commands of one stream use one after another. It grows as
/// commands are used for the first time. Outgrown memory is freed, unless a
/// captured graph may refer to it.
class DeviceScratch {
public:
  /// Returns at least `bytes` bytes with undefined contents, or null if `bytes`
  /// is 0. Waits for `stream`, which uses the memory, before it frees any.
  Status reserve(int64_t bytes, cudaStream_t stream, std::byte *&out);

  /// Called when a graph is captured: keeps the current memory allocated.
  void keep() { isNamed = true; }

private:
  Status release(cudaStream_t stream);

  DeviceMemory block;
  bool isNamed = false;
  std::vector<DeviceMemory> outgrown;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_DEVICEMEMORY_H
