/// Scheduling the commands of a step on its streams, as a problem that can be
/// checked. Several algorithms solve it (OverlapSchedulers.h), and a solution
/// can be verified. Plain numbers: neither IR nor hardware.
#ifndef TPSP_SCHEDULE_OVERLAPPROBLEM_H
#define TPSP_SCHEDULE_OVERLAPPROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

/// A bounded amount of memory that some commands take from. Its buffers are
/// those into which a stream gathers ahead of need, or those that wait to be
/// sent. With a capacity of twice what the step needs when it runs one command
/// after another, this is double buffering.
struct BufferPool {
  /// Bytes. A command that claims more is let in when the pool is empty.
  int64_t capacity = 0;
};

/// A claim on a pool, from the start of the command that makes it to the end of
/// the last of `releasedBy`.
struct BufferClaim {
  int64_t pool = 0;
  int64_t bytes = 0;
  /// Positions of later commands that come after the claim's; at least one.
  std::vector<int64_t> releasedBy;
};

struct OverlapProblem {
  struct Command {
    double seconds = 0;
    /// A stream runs one command at a time. 0 computes.
    int64_t stream = 0;
    /// Positions of earlier commands that must have ended.
    std::vector<int64_t> after;
    std::vector<BufferClaim> claims;

    /// Bytes of all its claims on a pool, which are granted together.
    int64_t bytesClaimed(int64_t pool) const;
  };

  /// The order is legal: dependences point backwards.
  std::vector<Command> commands;
  std::vector<BufferPool> pools;
  int64_t numStreams = 1;

  /// What is wrong with the problem itself; nullopt if nothing is.
  std::optional<std::string> check() const;
};

/// A solution. All claims on one pool must be by commands of one stream, which
/// makes their order that of the stream.
struct OverlapSchedule {
  /// When each command starts, in seconds from the start of the step.
  std::vector<double> start;
  /// The end of the last command.
  double seconds = 0;
  /// Dependences that the schedule adds: (earlier, later), where a claim waits
  /// for the release of another. With them the pools' capacities hold whatever
  /// the commands' real durations are.
  std::vector<std::pair<int64_t, int64_t>> added;
  /// Commands whose claims were granted beyond a capacity, because otherwise
  /// nothing could have gone on.
  std::vector<int64_t> overdrawn;
};

/// All commands by start. If several start together, those that take no time go
/// first, each behind what it comes after; then the order of the problem
/// decides.
std::vector<int64_t> startOrder(const OverlapProblem &problem,
                                const OverlapSchedule &schedule);

/// Whether every dependence, given or added, is kept, no stream runs two
/// commands at once, and no pool is exceeded but where it says so. The first
/// thing that is wrong, as a sentence with the commands' positions; nullopt if
/// nothing is.
std::optional<std::string> verify(const OverlapProblem &problem,
                                  const OverlapSchedule &schedule);

/// For each command, the longest chain of commands that begins with it, in
/// seconds: what the step still needs when it starts.
std::vector<double> remainingChain(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPPROBLEM_H
