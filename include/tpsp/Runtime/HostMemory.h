/// The host memory that is available for a run.
#ifndef TPSP_RUNTIME_HOSTMEMORY_H
#define TPSP_RUNTIME_HOSTMEMORY_H

#include <cstdint>

namespace tpsp::rt {

/// The bytes that the system estimates it can give without swapping; -1 if it
/// has no estimate.
int64_t availableHostBytes();

/// Lets the C library keep memory that is freed for the next allocation, until
/// the process ends. By default it returns large blocks to the system, which
/// clears each page before it gives it again. That takes as long as evaluating
/// a program. Does nothing where the C library is not GNU's.
void keepFreedMemory();

/// Converts bytes to GiB, for messages.
inline double gibibytes(int64_t bytes) {
  return bytes / double(int64_t(1) << 30);
}

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_HOSTMEMORY_H
