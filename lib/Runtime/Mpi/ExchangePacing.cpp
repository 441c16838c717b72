#include "ExchangePacing.h"

#include <algorithm>

namespace tpsp::rt {
namespace {

using Duration = ExchangePacing::Duration;
using namespace std::chrono_literals;

/// Between two looks no less, and no more: a failure elsewhere is seen then.
constexpr Duration shortest = 10us, longest = 5ms;
/// What is surely buffered between two looks.
constexpr int64_t bufferedBytes = 64 << 10;
/// Shorter exchanges say more of the other rank than of the link.
constexpr int64_t tellingBytes = 256 << 10;

Duration inSeconds(double seconds) {
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(seconds));
}

/// A share of the lateness that is not felt, and not so long that the buffers
/// of a fast link run empty.
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
  // A link that became slower is believed after some exchanges.
  bytesPerSecond = std::max(seen, 0.9 * bytesPerSecond);
}

} // namespace tpsp::rt
