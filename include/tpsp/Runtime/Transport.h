/// How the processes of a world reach each other, each with one rank.
///
/// A process has one Transport. A shared object makes it, which tpsp-run loads
/// when it finds itself under a launcher (TransportPlugin.h). So nothing else
/// needs MPI. The world and the collectives are written against this interface
/// alone; it is header-only and shares nothing with its users but these
/// classes.
#ifndef TPSP_RUNTIME_TRANSPORT_H
#define TPSP_RUNTIME_TRANSPORT_H

#include "tpsp/Abi/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::rt {

/// What one rank sends to or receives from another: `rows` runs of `bytes`
/// bytes that begin `stride` bytes apart.
struct Piece {
  /// In the world.
  int64_t rank = 0;
  std::byte *data = nullptr;
  int64_t rows = 1, bytes = 0, stride = 0;
};

/// One rank's part of a collective. Pieces between two ranks arrive in the
/// order in which they were sent. A piece that is sent and the one that is
/// received agree in bytes, and may differ in rows. No piece is empty or of the
/// rank itself.
struct Exchange {
  std::vector<Piece> sends, receives;
  /// 0 .. 2^30 - 1: what the ranks must agree on.
  int32_t tag = 0;
  double timeoutSeconds = 30;
};

/// Why an exchange did not end well.
struct ExchangeFailure {
  enum class Kind {
    TimedOut,  ///< `ranks` have not sent, or not taken, all
    Disagreed, ///< `ranks` are at an exchange with another tag
    Aborted,   ///< another rank has failed (`text`, or empty), or abort()
    Stopped,   ///< the launcher ends the run; `ranks` as of TimedOut
    Broken     ///< `text`: what the library says
  };
  Kind kind = Kind::Broken;
  std::vector<int64_t> ranks;
  std::string text;
};

/// Some ranks on one stream. Used by one thread at a time.
class Channel {
public:
  virtual ~Channel() = default;

  /// Sends and receives everything and returns when the memory of all pieces is
  /// the caller's again. False if it failed, `failure` says how; the memory
  /// must then outlive the process's communication. Waiting leaves the
  /// processor to others. Allocates nothing after the first exchange of a kind.
  virtual bool exchange(const Exchange &exchange, ExchangeFailure &failure) = 0;
};

/// The processes of a run, as one of them sees them.
class Transport {
public:
  virtual ~Transport() = default;

  /// This process's rank, and how many there are in all and on this host.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  virtual int64_t ranksOnHost() const = 0;

  /// All processes, from the beginning.
  virtual Channel &everyone() = 0;

  /// A channel between this process and all that name the same `color`. All
  /// processes of the world open the same channels in the same order, one
  /// thread in each. Not bounded in time: to be called when all have met.
  virtual Status openChannel(int64_t color, std::unique_ptr<Channel> &out) = 0;

  /// Ends pending and later exchanges of this process. From any thread.
  virtual void abort() = 0;

  /// Tells the other processes that this one fails, and with what; their
  /// exchanges end. The first call counts. From any thread.
  virtual void announceFailure(const std::string &message) = 0;

  /// Whether of the processes that announced a failure this one is to tell
  /// people. Waits a moment for those of lower rank, which come first.
  virtual bool isReporter() = 0;

  /// Before a process that failed exits: waits for a moment in which what was
  /// announced reaches the others, and one of them tells people.
  virtual void leave() = 0;

  /// Ends in order, together with all others. After this nothing may be called.
  virtual void finish() = 0;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_TRANSPORT_H
