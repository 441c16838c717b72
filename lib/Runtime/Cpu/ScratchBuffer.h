/// Scratch memory of one stream.
#ifndef TPSP_RUNTIME_CPU_SCRATCHBUFFER_H
#define TPSP_RUNTIME_CPU_SCRATCHBUFFER_H

#include <cstddef>
#include <memory>
#include <new>

namespace tpsp::rt {

/// Memory that grows on demand and is kept. Aligned to 64 bytes.
class ScratchBuffer {
public:
  /// Returns at least `bytes` bytes. Earlier contents and addresses become
  /// invalid. Throws std::bad_alloc.
  std::byte *reserve(size_t bytes) {
    if (bytes > size) {
      size = 0;
      memory.reset();
      memory.reset(new (alignment) std::byte[bytes]);
      size = bytes;
    }
    return memory.get();
  }

private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte *bytes) const {
      ::operator delete[](bytes, alignment);
    }
  };

  std::unique_ptr<std::byte, Free> memory;
  size_t size = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_SCRATCHBUFFER_H
