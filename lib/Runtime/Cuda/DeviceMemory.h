/// Memory of a GPU.
#ifndef TPSP_RUNTIME_CUDA_DEVICEMEMORY_H
#define TPSP_RUNTIME_CUDA_DEVICEMEMORY_H

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
  /// Once. `what` and `consumers` (WorldConfig::arenaConsumers) are for the
  /// refusal, which has the bytes wanted and free.
  Status allocate(int64_t wanted, const char *what,
                  const std::string &consumers = {});

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

/// Memory that the commands of one stream use one after another. Grows while
/// commands are used for the first time, and keeps what it outgrew: a captured
/// graph may still name it.
class DeviceScratch {
public:
  /// At least `bytes` bytes, whose content is anything; null for none.
  Status reserve(int64_t bytes, std::byte *&out);

private:
  std::vector<DeviceMemory> blocks;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_DEVICEMEMORY_H
