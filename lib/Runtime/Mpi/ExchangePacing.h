/// Decides when to poll for messages that are under way.
#ifndef TPSP_RUNTIME_MPI_EXCHANGEPACING_H
#define TPSP_RUNTIME_MPI_EXCHANGEPACING_H

#include <chrono>
#include <cstdint>

namespace tpsp::rt {

/// MPI moves data only while it is polled, and each poll takes time from the
/// core that computes. A channel therefore measures the rate of its link in
/// long exchanges. It polls once for as many bytes as a socket's buffers surely
/// hold, and more often near the end. If an exchange is later than expected,
/// because another rank is late, the pauses grow with the lateness. They stay a
/// small part of it.
class ExchangePacing {
public:
  using Duration = std::chrono::nanoseconds;

  /// Begins an exchange of `bytes` bytes in its larger direction.
  void begin(int64_t bytes) { this->bytes = bytes; }
  /// The time to sleep now, `waited` after the exchange began.
  Duration pauseAfter(Duration waited) const;
  /// Ends an exchange that took `waited`.
  void end(Duration waited);

private:
  /// The time of the exchange at the link's rate; zero if no rate is known.
  Duration expected() const;

  int64_t bytes = 0;
  /// The best recent rate; 0 before the first long exchange.
  double bytesPerSecond = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_EXCHANGEPACING_H
