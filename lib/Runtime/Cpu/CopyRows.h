/// Copies of rows of bytes.
#ifndef TPSP_RUNTIME_CPU_COPYROWS_H
#define TPSP_RUNTIME_CPU_COPYROWS_H

#include "../Core/PeerPieces.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tpsp::rt {

/// Copies `rows` runs of `bytes` bytes; strides are in bytes. Short runs are
/// common (a shard of an innermost dimension), so runs of one element are
/// copied by an inlined move.
inline void copyRows(std::byte *dst, int64_t dstStride, const std::byte *src,
                     int64_t srcStride, int64_t rows, int64_t bytes) {
  auto copy = [&](auto size) {
    for (int64_t row = 0; row < rows; ++row)
      std::memcpy(dst + row * dstStride, src + row * srcStride, size);
  };
  if (dst == src || bytes == 0)
    return;
  if (dstStride == bytes && srcStride == bytes)
    std::memcpy(dst, src, rows * bytes);
  else if (bytes == 2)
    copy(std::integral_constant<size_t, 2>());
  else if (bytes == 4)
    copy(std::integral_constant<size_t, 4>());
  else if (bytes == 8)
    copy(std::integral_constant<size_t, 8>());
  else
    copy(size_t(bytes));
}

inline void copyBlocks(const StridedCopy &c) {
  for (int64_t block = 0; block < c.blocks; ++block)
    copyRows(c.target + block * c.targetBlock, c.targetRow,
             c.source + block * c.sourceBlock, c.sourceRow, c.rows, c.bytes);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_COPYROWS_H
