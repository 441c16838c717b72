#include "Arena.h"

#include "tpsp/Runtime/HostMemory.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace tpsp::rt {
namespace {

constexpr size_t hugePage = size_t(2) << 20;

/// For smaller arenas, rounding up to huge pages would cost more in memory than
/// fewer address translations save in time.
constexpr size_t hugePageThreshold = 4 * hugePage;

} // namespace

Status checkMemory(int64_t ranks, int64_t bytes, const std::string &consumers) {
  int64_t needed, available = availableHostBytes();
  bool fits = !__builtin_mul_overflow(ranks, bytes, &needed) &&
              (available < 0 || needed <= available);
  if (fits)
    return {};
  return {
      TPSP_RT_INVALID,
      fmt::format(
          "{} ranks with arenas of {:.2f} GiB need {:.2f} GiB of "
          "memory, but {:.2f} GiB are available{}; use fewer ranks on "
          "this machine, smaller shapes or --rematerialize",
          ranks, gibibytes(bytes), ranks * gibibytes(bytes),
          gibibytes(available),
          consumers.empty() ? "" : "; the largest in an arena: " + consumers)};
}

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mappedBytes);
}

Status Arena::allocate(int64_t bytes) {
  if (bytes == 0)
    return {};
  bool huge = size_t(bytes) >= hugePageThreshold;
  mappedBytes = size_t(bytes) + (huge ? hugePage : 0);
  void *address = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    return {TPSP_RT_INTERNAL,
            fmt::format("cannot map an arena of {:.2f} GiB: {}",
                        gibibytes(bytes), std::strerror(errno))};
  mapping = address;
  auto aligned = reinterpret_cast<uintptr_t>(address);
  if (huge) {
    aligned = (aligned + hugePage - 1) / hugePage * hugePage;
    // This is only a hint: small pages work too.
    (void)madvise(reinterpret_cast<void *>(aligned), size_t(bytes),
                  MADV_HUGEPAGE);
  }
  start = reinterpret_cast<std::byte *>(aligned);
  return {};
}

} // namespace tpsp::rt
