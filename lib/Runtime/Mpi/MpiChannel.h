/// Exchanges over an MPI communicator.
#ifndef TPSP_RUNTIME_MPI_MPICHANNEL_H
#define TPSP_RUNTIME_MPI_MPICHANNEL_H

#include "ExchangePacing.h"
#include "FailureNotices.h"

#include "tpsp/Runtime/Transport.h"

#include <mpi.h>

#include <atomic>
#include <map>
#include <tuple>

namespace tpsp::rt {

/// The conditions that end the exchanges of a process.
struct ProcessState {
  FailureNotices notices;
  std::atomic<bool> aborted{false};
};

/// Posts non-blocking sends and receives, and polls their progress between
/// short sleeps. MPI's own waiting would take a core from the computation.
class MpiChannel final : public Channel {
public:
  /// Opens the channel of the ranks of MPI_COMM_WORLD that share `color`, in
  /// ascending order. Called by all processes together.
  static Status open(int64_t color, ProcessState &process,
                     std::unique_ptr<Channel> &out);
  ~MpiChannel() override;

  bool exchange(const Exchange &exchange, ExchangeFailure &failure) override;

private:
  explicit MpiChannel(ProcessState &process) : process(process) {}

  std::string findMembers();
  /// Posts one piece. Returns "", or MPI's error message.
  std::string post(const Piece &piece, int tag, bool isSend);
  /// The MPI type of a piece, made once for each layout.
  std::string typeOf(const Piece &piece, MPI_Datatype &out);
  bool wait(const Exchange &exchange, ExchangeFailure &failure);
  /// Abandons the receives of a failed exchange, which begin at `first`.
  void abandonReceives(size_t first);
  /// Finds the ranks that keep the requests from ending.
  void blame(const Exchange &exchange, ExchangeFailure &failure);
  bool isElsewhere(int member, int tag);

  ProcessState &process;
  MPI_Comm communicator = MPI_COMM_NULL;
  /// Maps a rank of the world to a rank of the communicator.
  std::map<int64_t, int> members;
  /// Keyed by rows, bytes and stride.
  std::map<std::tuple<int64_t, int64_t, int64_t>, MPI_Datatype> types;
  /// Requests of the exchange that is under way: sends, then receives.
  std::vector<MPI_Request> requests;
  ExchangePacing pacing;
};

/// Set when the launcher has asked this process to end.
extern std::atomic<bool> stopRequested;

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_MPI_MPICHANNEL_H
