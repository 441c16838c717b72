/// When to look next at messages that are under way.
#ifndef TPSP_RUNTIME_MPI_EXCHANGEPACING_H
#define TPSP_RUNTIME_MPI_EXCHANGEPACING_H

#include <chrono>
#include <cstdint>

namespace tpsp::rt {

/// MPI moves data only while it is asked, and each time that it is asked takes
/// a moment from the core that computes. A channel therefore learns from its
/// long exchanges how fast its link is. It asks once for as many bytes as the
/// buffers of a socket surely take, and more often near the end. An exchange
/// that is later than expected, because another rank is, is asked for as often
/// as its lateness allows without being felt.
class ExchangePacing {
public:
  using Duration = std::chrono::nanoseconds;

  /// An exchange of `bytes`, in the direction in which it has more, begins.
  void begin(int64_t bytes) { this->bytes = bytes; }
  /// How long to sleep now, `waited` after it began.
  Duration pauseAfter(Duration waited) const;
  /// It ended so long after it began.
  void end(Duration waited);

private:
  /// How long the exchange takes at the link's rate; none known: nothing.
  Duration expected() const;

  int64_t bytes = 0;
  /// The best that was seen lately; 0 before the first long exchange.
  double bytesPerSecond = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_EXCHANGEPACING_H
