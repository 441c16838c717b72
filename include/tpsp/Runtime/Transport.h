/// Communication between the processes of a world, each of which has one rank.
///
/// Each process has one Transport. If tpsp-run was started by a launcher, it
/// loads a shared object that makes the Transport (TransportPlugin.h), so
/// nothing else needs MPI. The world and the collectives use this interface
/// alone. It is header-only, and a transport shares only these classes with its
/// users.
#ifndef TPSP_RUNTIME_TRANSPORT_H
#define TPSP_RUNTIME_TRANSPORT_H

#include "tpsp/Abi/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::rt {

/// Data that one rank sends to or receives from another: `rows` runs of `bytes`
/// bytes that begin `stride` bytes apart.
struct Piece {
  /// The other rank's number in the world.
  int64_t rank = 0;
  std::byte *data = nullptr;
  int64_t rows = 1, bytes = 0, stride = 0;
};

/// One rank's part of a collective. Pieces between two ranks arrive in the
/// order in which they were sent. A sent piece and the received piece agree in
/// bytes, and may differ in rows. No piece is empty, and no piece is for the
/// rank itself.
struct Exchange {
  std::vector<Piece> sends, receives;
  /// From 0 to 2^30 - 1; the ranks' tags must agree.
  int32_t tag = 0;
  double timeoutSeconds = 30;
};

/// Why an exchange failed.
struct ExchangeFailure {
  enum class Kind {
    TimedOut,  ///< `ranks` have not sent, or not received, everything
    Disagreed, ///< `ranks` are at an exchange with another tag
    Aborted,   ///< another rank has failed (`text`, or empty), or abort()
    Stopped,   ///< the launcher ends the run; `ranks` as for TimedOut
    Broken     ///< `text`: the library's message
  };
  Kind kind = Kind::Broken;
  std::vector<int64_t> ranks;
  std::string text;
};

/// Communication of some ranks on one stream. Used by one thread at a time.
class Channel {
public:
  virtual ~Channel() = default;

  /// Sends and receives everything, and returns when the memory of all pieces
  /// may be reused. Returns false if that failed, and `failure` says why; the
  /// memory must then outlive the process's communication. While it waits, it
  /// yields the processor to others. Allocates nothing after the first exchange
  /// of a kind.
  virtual bool exchange(const Exchange &exchange, ExchangeFailure &failure) = 0;
};

/// All processes of a run, from the view of one of them.
class Transport {
public:
  virtual ~Transport() = default;

  /// This process's rank, the number of ranks, and the number of ranks on this
  /// host.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual int64_t ranksOnHost() const = 0;

  /// A channel of all processes, open from the beginning.
  virtual Channel &everyone() = 0;

  /// Opens a channel between all processes that pass the same `color`. All
  /// processes of the world open the same channels in the same order, on one
  /// thread in each. The call has no timeout, so it must be made when all
  /// processes have met.
  virtual Status openChannel(int64_t color, std::unique_ptr<Channel> &out) = 0;

  /// Ends pending and later exchanges of this process. Callable from any
  /// thread.
  virtual void abort() = 0;

  /// Tells the other processes that this one has failed, and with which
  /// message; their exchanges end. Only the first call has an effect. Callable
  /// from any thread.
  virtual void announceFailure(const std::string &message) = 0;

  /// Whether this process, among those that announced a failure, tells the
  /// user. Waits a moment for announcements of lower ranks, which have
  /// precedence.
  virtual bool isReporter() = 0;

  /// To be called before a failed process exits. Waits a moment so that its
  /// announcement reaches the others, and one of them tells the user.
  virtual void leave() = 0;

  /// Ends communication in order, together with all other processes. Nothing
  /// may be called afterwards.
  virtual void finish() = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_TRANSPORT_H
