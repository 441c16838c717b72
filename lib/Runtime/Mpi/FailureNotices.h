/// What processes tell each other when they fail.
#ifndef TPSP_RUNTIME_MPI_FAILURENOTICES_H
#define TPSP_RUNTIME_MPI_FAILURENOTICES_H

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace tpsp::rt {

/// Short messages on a communicator of their own. Thread-safe.
class FailureNotices {
public:
  /// Empty, or what MPI says. All processes together.
  std::string open();

  /// Tells all others. The first call counts.
  void announce(const std::string &message);

  /// Whether another process has failed; `message` is what the one of lowest
  /// rank said. Cheap: it asks MPI at most every few milliseconds.
  bool hasCome(std::string &message);

  /// Whether no process of lower rank has failed as well, as far as is known
  /// after a moment.
  bool isFirst();

  /// Returns when what was announced should have reached the others, and who is
  /// first of those that fail should have spoken.
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
  /// The lowest rank of a failed process, and its message; `size` if there is
  /// none.
  int lowest = 0;
  std::string lowestMessage;
  std::atomic<bool> announced{false};
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_FAILURENOTICES_H
