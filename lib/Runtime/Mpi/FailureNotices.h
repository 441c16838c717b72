/// Messages with which processes tell each other that they have failed.
#ifndef TPSP_RUNTIME_MPI_FAILURENOTICES_H
#define TPSP_RUNTIME_MPI_FAILURENOTICES_H

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace tpsp::rt {

/// Sends short messages on a communicator of their own. Thread-safe.
class FailureNotices {
public:
  /// Called by all processes together. Returns "", or MPI's error message.
  std::string open();

  /// Tells all other processes. Only the first call has an effect.
  void announce(const std::string &message);

  /// Whether another process has failed; `message` is then that of the failed
  /// process of lowest rank. Cheap: it polls MPI at most once every few
  /// milliseconds.
  bool hasCome(std::string &message);

  /// Waits a moment, and returns whether no process of lower rank is known to
  /// have failed.
  bool isFirst();

  /// Returns when this process's message should have reached the others, and
  /// the first failed process should have told the user.
  void linger();

private:
  static constexpr int messageBytes = 2048;

  void listen();
  void take();
  bool areSent();

  std::mutex mutex;
  MPI_Comm everyone = MPI_COMM_NULL;
  int rank = 0, size = 1;
  MPI_Request listening = MPI_REQUEST_NULL;
  char incoming[messageBytes] = {};
  char outgoing[messageBytes] = {};
  std::vector<MPI_Request> sends;
  double lastLook = 0;
  /// The lowest rank of a failed process, and its message. The rank is `size`
  /// if no process has failed.
  int lowest = 0;
  std::string lowestMessage;
  std::atomic<bool> announced{false};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_FAILURENOTICES_H
