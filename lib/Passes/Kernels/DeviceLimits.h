/// The sizes of a GPU, and its limits on kernels.
#ifndef TPSP_PASSES_KERNELS_DEVICELIMITS_H
#define TPSP_PASSES_KERNELS_DEVICELIMITS_H

#include <cstdint>

namespace tpsp {

/// Threads of a warp, which run together and exchange values by shuffles.
constexpr int64_t warp = 32;

/// Bytes of memory that a block may ask for. sm_80 has 164 KiB for its blocks,
/// small chips of the same generation 99.
constexpr int64_t blockMemoryBytes = 99 << 10;

/// Bytes that one thread may keep. The GPU reserves them for all threads that
/// it could run at once: 1.1 GB on an H100.
constexpr int64_t threadMemoryBytes = 4 << 10;

/// Bytes of a kernel's parameters, the limit of PTX before 8.1. A buffer or a
/// number takes 8.
constexpr int64_t parameterBytes = 4352;

} // namespace tpsp

#endif // TPSP_PASSES_KERNELS_DEVICELIMITS_H
