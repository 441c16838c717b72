/// Decides whether a command may start before earlier commands without
/// exceeding the memory, now or later.
#ifndef TPSP_SCHEDULE_MEMORYACCOUNT_H
#define TPSP_SCHEDULE_MEMORYACCOUNT_H

#include "tpsp/Schedule/OverlapProblem.h"

#include <memory>

namespace tpsp {

/// Numbers at positions. Adds to a range, and finds the largest number of a
/// range, in logarithmic time.
class RangeMaximum {
public:
  explicit RangeMaximum(size_t size);
  void add(int64_t begin, int64_t end, int64_t bytes);
  /// The largest number; 0 for an empty range.
  int64_t max(int64_t begin, int64_t end) const;

private:
  int64_t leaves = 1;
  /// Per node of the tree. `added` is what was added to the node's whole range.
  /// `largest` is the largest number of the range, with all additions to the
  /// whole range and below.
  std::vector<int64_t> largest, added;
};

/// The memory of a schedule under construction. From any state, the remaining
/// commands can run one after another, in the order of the problem. For each
/// position the account knows the memory that this would need. A command starts
/// early only if that stays below the capacity everywhere (the banker's
/// algorithm, Dijkstra 1965). So no command ever has to start beyond the
/// capacity. A copy of the account before its first command is cheaper than a
/// new one.
class MemoryAccount {
public:
  explicit MemoryAccount(const OverlapProblem &problem);

  /// Whether the command may start now. If nothing runs, the oldest command
  /// that has not started always may.
  bool canStart(int64_t command) const;
  /// Starts the command. Returns the commands that must have ended before it
  /// starts, because it takes the room of their buffers.
  std::vector<int64_t> start(int64_t command);
  void finish(int64_t command);
  /// The first command, in the order of the problem, that has not started.
  int64_t oldest() const { return first; }

private:
  struct Buffer {
    size_t usersLeft = 0;
    bool isStarted = false;
    bool isBehind = false;      ///< all users have started
    std::vector<int64_t> ended; ///< per stream, the last user that has ended
  };
  /// Room that a stream may take without waiting: its own commands have left
  /// it, or it has waited for the commands that did.
  struct Stream {
    size_t known = 0; ///< it knows `released` up to here
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
  /// Whether all these commands are on `stream`.
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
      0; ///< bytes of buffers whose users have all started but not all ended
  std::vector<Stream> streams;
  std::vector<Released> released;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_MEMORYACCOUNT_H
