/// Scratch memory of one stream.
#ifndef TPSP_RUNTIME_CPU_SCRATCHBUFFER_H
#define TPSP_RUNTIME_CPU_SCRATCHBUFFER_H

#include <cstddef>

namespace tpsp::rt {

/// Grows on demand and is then kept. Aligned to 64 bytes.
class ScratchBuffer {
public:
  ScratchBuffer() = default;
  ScratchBuffer(const ScratchBuffer &) = delete;
  ScratchBuffer &operator=(const ScratchBuffer &) = delete;
  ~ScratchBuffer();

  /// At least `bytes` bytes, whose contents and earlier addresses are lost.
  /// Throws std::bad_alloc.
  std::byte *reserve(size_t bytes);

private:
  std::byte *memory = nullptr;
  size_t size = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SCRATCHBUFFER_H
