/// Decides whether a command may start before earlier commands without
/// exceeding the memory, now or later.
#ifndef TPSP_SCHEDULE_MEMORYACCOUNT_H
#define TPSP_SCHEDULE_MEMORYACCOUNT_H

#include "tpsp/Abi/NumberedLists.h"
#include "tpsp/Schedule/OverlapProblem.h"

#include <algorithm>
#include <memory>

namespace tpsp {

/// Numbers at positions. Adds to all positions before one, and finds the
/// largest number of a range, in logarithmic time.
class RangeMaximum {
public:
  explicit RangeMaximum(size_t size);
  /// Adds to the positions that are less than `end`.
  void addBefore(int64_t end, int64_t bytes);
  /// The largest number; 0 for an empty range.
  int64_t max(int64_t begin, int64_t end) const;

private:
  /// The last position before each end keeps the bytes that were added there.
  /// So the number at a position is the sum of the kept bytes from there on.
  struct Node {
    int64_t sum = 0;
    /// The largest sum from a position of the node's range to the range's end.
    int64_t largest = 0;
  };
  static Node join(const Node &left, const Node &right) {
    return {left.sum + right.sum,
            std::max(left.largest + right.sum, right.largest)};
  }

  int64_t leaves = 1;
  std::vector<Node> nodes;
};

/// The memory of a schedule under construction. From any state, the remaining
/// commands can run one after another, in the order of the problem. For each
/// position the account knows the memory that this would need. A command starts
/// early only if that stays below the capacity everywhere (the banker's
/// algorithm, Dijkstra 1965). So no command ever has to start beyond the
/// capacity, unless one command after another takes more. Then nothing runs
/// while such a command starts. A copy of the account before its first command
/// is cheaper than a new one.
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
    int32_t usersLeft = 0;
    bool isStarted = false;
    bool isBehind = false; ///< all users have started
  };
  /// Room that a stream may take without waiting: its own commands have left
  /// it, or it has waited for the commands that did.
  struct Stream {
    size_t known = 0; ///< it knows `released` up to here
    int64_t unknownBytes = 0;
  };

  /// The parts that stay the same from the first command to the last.
  struct Uses {
    /// Per command: the buffers that it uses, and those that no later one uses.
    NumberedLists<int64_t> buffersOf, lastAt;
  };

  int64_t bytesStarted(int64_t command) const;
  void release(int64_t buffer);
  /// The last user of the buffer on `stream` that has ended; -1 if none has.
  int32_t &lastEnded(int64_t buffer, int64_t stream) {
    return ended[buffer * problem.numStreams + stream];
  }
  /// Whether all users of a buffer that has been released were on `stream`.
  bool wasOn(int64_t buffer, int64_t stream);

  const OverlapProblem &problem;
  const int64_t capacity;
  std::vector<Buffer> buffers;
  std::vector<int32_t> ended; ///< lastEnded()
  std::shared_ptr<const Uses> uses;
  std::vector<bool> hasStarted;
  RangeMaximum rest;
  int64_t first = 0;
  int64_t live = 0;
  int64_t behind =
      0; ///< bytes of buffers whose users have all started but not all ended
  std::vector<Stream> streams;
  std::vector<int64_t> released; ///< buffers whose users have all ended
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_MEMORYACCOUNT_H
