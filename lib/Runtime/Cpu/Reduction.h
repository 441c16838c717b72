/// Combines the elements of several buffers.
#ifndef TPSP_RUNTIME_CPU_REDUCTION_H
#define TPSP_RUNTIME_CPU_REDUCTION_H

#include <cstddef>
#include <cstdint>

namespace tpsp::rt {

/// dst[i] = sources[0][i] op sources[1][i] op ..., from left to right, for i in
/// [0, count). dst may be one of the sources. The order is the same for every
/// element, so ranks that combine different parts agree bit by bit. 16-bit
/// types are combined in f32. A maximum with a NaN is a NaN.
using ReduceFunction = void (*)(std::byte *dst, const std::byte *const *sources,
                                int64_t numSources, int64_t count);

/// `dtype` and `reduction` must be valid (Commands.h).
ReduceFunction reduceFunction(int64_t dtype, int64_t reduction);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_REDUCTION_H
