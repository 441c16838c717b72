#include "ExchangePacing.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

using Duration = ExchangePacing::Duration;
using namespace std::chrono_literals;

/// Bounds of a pause between two polls. The upper bound is how late a failure
/// elsewhere may be noticed.
constexpr Duration shortest = 10us, longest = 5ms;
/// Bytes that are surely buffered between two polls.
constexpr int64_t bufferedBytes = 64 << 10;
/// Shorter exchanges tell more about the other rank than about the link.
constexpr int64_t tellingBytes = 256 << 10;

Duration inSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(seconds));
}

/// A small fraction of the lateness, and too short for the buffers of a fast
/// link to run empty.
Duration pauseWhenLate(Duration late) {
  return std::clamp<Duration>(late / 32, shortest, 1ms);
}

} // namespace

Duration ExchangePacing::expected() const {
  return bytesPerSecond > 0 ? inSeconds(double(bytes) / bytesPerSecond)
                            : Duration(0);
}

Duration ExchangePacing::pauseAfter(Duration waited) const {
  Duration end = expected();
  if (waited >= end)
    return pauseWhenLate(waited - end);
  Duration filling = inSeconds(double(bufferedBytes) / bytesPerSecond);
  Duration approach = std::max((end - waited) / 4, end / 128);
  return std::clamp(std::min(filling, approach), shortest, longest);
}

void ExchangePacing::end(Duration waited) {
  if (bytes < tellingBytes || waited <= Duration(0))
    return;
  double seen = double(bytes) / std::chrono::duration<double>(waited).count();
  // A lower rate is accepted only gradually, over several exchanges.
  bytesPerSecond = std::max(seen, 0.9 * bytesPerSecond);
}

} // namespace tpsp::rt
