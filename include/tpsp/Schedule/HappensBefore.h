/// What has certainly ended when a command begins: the order that streams and
/// events make, as vector clocks (Fidge 1988, Mattern 1989).
#ifndef TPSP_SCHEDULE_HAPPENSBEFORE_H
#define TPSP_SCHEDULE_HAPPENSBEFORE_H

#include "tpsp/Abi/Plan.h"

#include "llvm/ADT/SmallVector.h"

namespace tpsp {

/// For each stream, how many of its commands, from its first, have ended.
using StreamClock = llvm::SmallVector<int64_t, 4>;

/// Whether every component of `a` is at most that of `b`.
bool isCovered(const StreamClock &a, const StreamClock &b);
/// The larger, or the smaller, of each component.
void raiseTo(StreamClock &clock, const StreamClock &other);
void lowerTo(StreamClock &clock, const StreamClock &other);

/// What is wrong with a step: a sentence about a command. It may be about
/// another command or buffer, too (-1 if not).
struct StepFault {
  std::string message;
  int64_t command = -1;
  int64_t otherCommand = -1;
  int64_t buffer = -1;
  int64_t otherBuffer = -1;
};

class HappensBefore {
public:
  /// Follows the commands in issue order. Faults are a wait whose event has not
  /// been recorded before, in that order, and an event that is recorded twice.
  /// So are streams or events that do not exist. Issued in this order, commands
  /// cannot wait for each other in a circle.
  static std::optional<StepFault> analyse(const Plan &plan, HappensBefore &out);

  /// Has `earlier` ended whenever `later` begins?
  bool endsBefore(int64_t earlier, int64_t later) const {
    return positions[earlier].number < clocks[later][positions[earlier].stream];
  }
  /// What has ended when a command begins.
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

/// For each command the earlier ones that it must come after, because both
/// touch the same bytes of a buffer and one of them writes. By buffers, not by
/// offsets: what the program means, whatever memory it is given. And a command
/// that reads a cotangent comes after those that write its result, as in a
/// training step.
std::vector<std::vector<int64_t>> dependencesOf(const Plan &plan);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HAPPENSBEFORE_H
