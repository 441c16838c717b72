#include "DeviceMemory.h"

#include <fmt/format.h>

#include <utility>

namespace tpsp::rt {

Status DeviceMemory::allocate(int64_t wanted, const char *what,
                              const std::string &consumers) {
  if (wanted == 0)
    return {};
  void *address = nullptr;
  cudaError_t result = cudaMalloc(&address, size_t(wanted));
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    size_t free = 0, total = 0;
    TPSP_CUDA(cudaMemGetInfo, &free, &total);
    return {TPSP_RT_UNSUPPORTED,
            fmt::format("{} of {} bytes does not fit the GPU, which has {} "
                        "free of {}{}{}; use more ranks, smaller shapes or "
                        "--rematerialize",
                        what, wanted, free, total,
                        consumers.empty() ? "" : "; the largest in an arena: ",
                        consumers)};
  }
  TPSP_TRY(checkCuda(result, "cudaMalloc"));
  memory.reset(static_cast<std::byte *>(address));
  size = wanted;
  return {};
}

Status DeviceScratch::reserve(int64_t bytes, cudaStream_t stream,
                              std::byte *&out) {
  out = nullptr;
  if (bytes == 0)
    return {};
  if (block.bytes() < bytes) {
    constexpr int64_t granularity = 1 << 20;
    TPSP_TRY(release(stream));
    TPSP_TRY(
        block.allocate((bytes - 1) / granularity * granularity + granularity,
                       "scratch memory"));
  }
  out = block.data();
  return {};
}

Status DeviceScratch::release(cudaStream_t stream) {
  if (!block.data())
    return {};
  if (isNamed) {
    outgrown.push_back(std::exchange(block, {}));
    isNamed = false;
    return {};
  }
  TPSP_CUDA(cudaStreamSynchronize, stream);
  block.free();
  return {};
}

} // namespace tpsp::rt
