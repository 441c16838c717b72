/// What the machine has left for a run.
#ifndef TPSP_RUNTIME_HOSTMEMORY_H
#define TPSP_RUNTIME_HOSTMEMORY_H

#include <cstdint>

namespace tpsp::rt {

/// The bytes that the system can give without swapping, by its own estimate; -1
/// if it gives none.
int64_t availableHostBytes();

/// For messages.
inline double gibibytes(int64_t bytes) {
  return bytes / double(int64_t(1) << 30);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_HOSTMEMORY_H
