/// A rank's memory on the CPU.
#ifndef TPSP_RUNTIME_CPU_ARENA_H
#define TPSP_RUNTIME_CPU_ARENA_H

#include "tpsp/Abi/Status.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace tpsp::rt {

/// Owns zeroed memory that becomes resident page by page as it is touched.
class Arena {
public:
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena();

  /// Allocates `bytes` bytes aligned to 64. Large arenas are aligned to 2 MiB
  /// and use huge pages. INTERNAL if the system refuses. Called once.
  Status allocate(int64_t bytes);

  /// Null if empty.
  std::byte *data() const { return start; }

private:
  void *mapping = nullptr;
  size_t mappedBytes = 0;
  std::byte *start = nullptr;
};

/// INVALID, with both figures, if `ranks` arenas of `bytes` bytes are more than
/// the memory that is available now.
Status checkMemory(int64_t ranks, int64_t bytes, const std::string &consumers);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CPU_ARENA_H
