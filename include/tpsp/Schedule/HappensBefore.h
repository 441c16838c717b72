/// The order that streams and events enforce: which commands have certainly
/// ended when another begins. Uses vector clocks (Fidge 1988, Mattern 1989).
#ifndef TPSP_SCHEDULE_HAPPENSBEFORE_H
#define TPSP_SCHEDULE_HAPPENSBEFORE_H

#include "tpsp/Abi/Plan.h"

#include "llvm/ADT/SmallVector.h"

namespace tpsp {

/// For each stream, the number of its commands, from the first on, that have
/// ended.
using StreamClock = llvm::SmallVector<int64_t, 4>;

/// Whether every component of `a` is at most that of `b`.
bool isCovered(const StreamClock &a, const StreamClock &b);
/// Takes the larger, or the smaller, of each component.
void raiseTo(StreamClock &clock, const StreamClock &other);
void lowerTo(StreamClock &clock, const StreamClock &other);

/// A fault of a step: a sentence about a command. Another command, and buffers,
/// may be involved (-1 if not).
struct StepFault {
  std::string message;
  int64_t command = -1;
  int64_t otherCommand = -1;
  int64_t buffer = -1;
  int64_t otherBuffer = -1;
};

class HappensBefore {
public:
  /// Follows the commands in issue order. A wait is a fault if its event was
  /// not recorded earlier in that order. So are an event that is recorded
  /// twice, and a stream or an event that does not exist. Without these faults,
  /// commands cannot wait for each other in a circle.
  static std::optional<StepFault> analyse(const Plan &plan, HappensBefore &out);

  /// Whether `earlier` has certainly ended when `later` begins.
  bool endsBefore(int64_t earlier, int64_t later) const {
    return positions[earlier].number < clocks[later][positions[earlier].stream];
  }
  /// The commands that have certainly ended when `command` begins.
  const StreamClock &clockOf(int64_t command) const { return clocks[command]; }

  /// A command's stream, and its position among that stream's commands.
  struct StreamPosition {
    int64_t stream = 0, number = 0;
  };
  StreamPosition positionOf(int64_t command) const {
    return positions[command];
  }
  int64_t numStreams() const { return streams; }

private:
  std::vector<StreamPosition> positions;
  std::vector<StreamClock> clocks;
  int64_t streams = 1;
};

/// For each command, the earlier commands that it depends on: both touch the
/// same bytes of a buffer, and one of them writes. Buffers count, not offsets,
/// so the dependences are those of the program, wherever its buffers lie. A
/// command that reads a cotangent also depends on the commands that write its
/// result, as in a training step.
std::vector<std::vector<int64_t>> dependencesOf(const Plan &plan);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HAPPENSBEFORE_H
