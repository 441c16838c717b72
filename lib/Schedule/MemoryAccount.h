/// Whether a command may start before earlier ones without taking more memory
/// than there is, now or later.
#ifndef TPSP_SCHEDULE_MEMORYACCOUNT_H
#define TPSP_SCHEDULE_MEMORYACCOUNT_H

#include "tpsp/Schedule/OverlapProblem.h"

#include <memory>

namespace tpsp {

/// Numbers at positions: adds to a range, and finds the largest of a range, in
/// logarithmic time.
class RangeMaximum {
public:
  explicit RangeMaximum(size_t size);
  void add(int64_t begin, int64_t end, int64_t bytes);
  /// 0 of an empty range.
  int64_t max(int64_t begin, int64_t end) const;

private:
  int64_t leaves = 1;
  /// Of a node's range: the largest, with all that was added to the whole of it
  /// and below. And what was added to the whole of it.
  std::vector<int64_t> largest, added;
};

/// The memory of a schedule that is being made. From any of its states the rest
/// can run one after another, in the order of the problem. For each position
/// the account knows what that would take there. A command starts early only if
/// it stays below the capacity everywhere (as the banker lends, Dijkstra 1965).
/// So nothing ever has to be let in beyond the capacity. A copy of the account
/// before its first command is cheaper than another one.
class MemoryAccount {
public:
  explicit MemoryAccount(const OverlapProblem &problem);

  /// Whether the command may start now. The oldest that has not started always
  /// may when nothing runs.
  bool canStart(int64_t command) const;
  /// Returns the commands that must certainly have ended before this one
  /// starts, for the room of their buffers.
  std::vector<int64_t> start(int64_t command);
  void finish(int64_t command);
  /// The first in the order of the problem that has not started.
  int64_t oldest() const { return first; }

private:
  struct Buffer {
    size_t usersLeft = 0;
    bool isStarted = false;
    bool isBehind = false;      ///< all users have started
    std::vector<int64_t> ended; ///< of each stream the last user that has ended
  };
  /// Room that a stream gets without asking: its own commands have left it, or
  /// it has waited for those that have.
  struct Stream {
    size_t known = 0; ///< of `released`, all before it
    int64_t unknownBytes = 0;
  };
  struct Released {
    int64_t bytes;
    std::vector<int64_t> users;
  };

  /// Per command: the buffers that it uses, and those that no later one uses.
  struct Uses {
    std::vector<std::vector<int64_t>> buffersOf, lastAt;
  };

  int64_t bytesStarted(int64_t command) const;
  void release(int64_t buffer);
  /// Whether all these commands are on a stream.
  bool areOn(const std::vector<int64_t> &commands, int64_t stream) const;

  const OverlapProblem &problem;
  const int64_t capacity;
  std::vector<Buffer> buffers;
  std::shared_ptr<const Uses> uses;
  std::vector<bool> hasStarted;
  RangeMaximum rest;
  int64_t first = 0;
  int64_t live = 0;
  int64_t behind =
      0; ///< of buffers whose users have all started, not all ended
  std::vector<Stream> streams;
  std::vector<Released> released;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_MEMORYACCOUNT_H
