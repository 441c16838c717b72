/// The host memory that is available for a run.
#ifndef TPSP_RUNTIME_HOSTMEMORY_H
#define TPSP_RUNTIME_HOSTMEMORY_H

#include <cstdint>

namespace tpsp::rt {

/// The bytes that the system estimates it can give without swapping; -1 if it
/// has no estimate.
int64_t availableHostBytes();

/// Converts bytes to GiB, for messages.
inline double gibibytes(int64_t bytes) {
  return bytes / double(int64_t(1) << 30);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_HOSTMEMORY_H
