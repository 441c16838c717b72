#include "ScratchBuffer.h"

#include <new>

namespace tpsp::rt {

static constexpr std::align_val_t alignment{64};

ScratchBuffer::~ScratchBuffer() { ::operator delete(memory, alignment); }

std::byte *ScratchBuffer::reserve(size_t bytes) {
  if (bytes <= size)
    return memory;
  ::operator delete(memory, alignment);
  memory = nullptr;
  size = 0;
  memory = static_cast<std::byte *>(::operator new(bytes, alignment));
  size = bytes;
  return memory;
}

} // namespace tpsp::rt
