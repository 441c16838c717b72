#include "DeviceMemory.h"

#include <fmt/format.h>

#include <algorithm>

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

Status DeviceScratch::reserve(int64_t bytes, std::byte *&out) {
  out = nullptr;
  if (bytes == 0)
    return {};
  if (blocks.empty() || blocks.back().bytes() < bytes) {
    constexpr int64_t least = 1 << 20;
    int64_t twice = blocks.empty() ? 0 : 2 * blocks.back().bytes();
    DeviceMemory fresh;
    TPSP_TRY(fresh.allocate(std::max({bytes, least, twice}), "scratch memory"));
    blocks.push_back(std::move(fresh));
  }
  out = blocks.back().data();
  return {};
}

} // namespace tpsp::rt
