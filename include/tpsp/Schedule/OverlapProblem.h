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

/// A temporary. It takes memory from the start of the first of its users that
/// starts to the end of the last that ends.
struct OverlapBuffer {
  int64_t bytes = 0;
  /// Positions of commands, ascending; at least one.
  std::vector<int64_t> users;
  /// Whether it already takes memory before the first command, and whether it
  /// still does after the last.
  bool livesBefore = false, livesAfter = false;
};

struct OverlapProblem {
  struct Command {
    double seconds = 0;
    /// A stream runs one command at a time. 0 computes.
    int64_t stream = 0;
    /// Positions of earlier commands that must have ended.
    std::vector<int64_t> after;
    /// No command of stream 0 starts before those of earlier phases have ended.
    /// On stream 0, phases do not fall.
    int64_t phase = 0;
  };

  /// The order is legal: dependences point backwards.
  std::vector<Command> commands;
  std::vector<OverlapBuffer> buffers;
  /// Bytes that buffers may take at once. Where one command after another takes
  /// more, up to serialPeak(), no other command starts early.
  int64_t capacity = 0;
  /// Whether a command that starts buffers always waits for the commands on
  /// other streams that have left room before it. If false, it waits only if
  /// the capacity requires it. With true, buffers find room in an arena with
  /// fewer gaps between them.
  bool waitsForRoom = false;
  int64_t numStreams = 1;

  /// The first error in the problem itself; nullopt if there is none.
  std::optional<std::string> check() const;
  /// The most bytes that buffers take when the commands run one after another.
  int64_t serialPeak() const;
};

/// A solution.
struct OverlapSchedule {
  /// When each command starts, in seconds from the start of the step.
  std::vector<double> start;
  /// The end of the last command.
  double seconds = 0;
  /// Dependences that the schedule adds, as (earlier, later). With some of
  /// them, buffers that the later command starts take the room of buffers that
  /// the earlier one ends. The capacity then holds whatever the commands' real
  /// durations are. Others keep communication from beginning long before it is
  /// needed.
  std::vector<std::pair<int64_t, int64_t>> added;
};

/// All commands by start. If several start together, commands that take no time
/// go first. Each follows the commands that it depends on. Otherwise the
/// problem's order decides.
std::vector<int64_t> startOrder(const OverlapProblem &problem,
                                const OverlapSchedule &schedule);

/// Checks that every dependence, given or added, is kept, no stream runs two
/// commands at once, no phase begins early, and memory is enough. Returns the
/// first error, as a sentence with the commands' positions; nullopt if there is
/// none.
std::optional<std::string> verify(const OverlapProblem &problem,
                                  const OverlapSchedule &schedule);

/// For each command, the longest chain of commands that begins with it, in
/// seconds: what the step still needs when it starts.
std::vector<double> remainingChain(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPPROBLEM_H
