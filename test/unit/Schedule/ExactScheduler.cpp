#include "ExactScheduler.h"

#include "tpsp/Schedule/OverlapSchedulers.h"

#include <algorithm>
#include <cassert>
#include <optional>

using namespace tpsp;

namespace {

/// Searches depth-first over commands in the order of their starts. It visits
/// the schedules in which every command starts as early as its stream and its
/// predecessors allow. One of them is optimal. Each is visited once, because
/// starts never decrease.
class BranchAndBound {
public:
  explicit BranchAndBound(const OverlapProblem &problem)
      : problem(problem), chain(remainingChain(problem)),
        streamFree(problem.numStreams, 0),
        end(problem.commands.size(), notEnded),
        start(problem.commands.size(), 0), best(scheduleList(problem)) {}

  OverlapSchedule run() {
    branch(0, 0, -1);
    return std::move(best);
  }

private:
  static constexpr double notEnded = -1;

  /// Returns the earliest start; nullopt if a predecessor has not been placed.
  std::optional<double> earliest(int64_t command) const {
    const OverlapProblem::Command &c = problem.commands[command];
    double time = streamFree[c.stream];
    for (int64_t earlier : c.after) {
      if (end[earlier] == notEnded)
        return std::nullopt;
      time = std::max(time, end[earlier]);
    }
    return time;
  }

  /// Whether placing the last two in the other order gives the same schedule.
  bool isSwap(int64_t first, int64_t second, double firstStart,
              double secondStart) const {
    return firstStart == secondStart && second < first &&
           problem.commands[first].stream != problem.commands[second].stream;
  }

  void branch(size_t placed, double last, int64_t lastCommand) {
    if (placed == problem.commands.size()) {
      double seconds = *std::max_element(end.begin(), end.end());
      if (seconds < best.seconds)
        best = {start, seconds, {}};
      return;
    }
    for (int64_t i = 0; i < int64_t(problem.commands.size()); ++i) {
      if (end[i] != notEnded)
        continue;
      std::optional<double> time = earliest(i);
      if (!time || *time < last || isSwap(lastCommand, i, last, *time) ||
          *time + chain[i] >= best.seconds)
        continue;
      double &free = streamFree[problem.commands[i].stream];
      double before = free;
      start[i] = *time;
      free = end[i] = *time + problem.commands[i].seconds;
      branch(placed + 1, *time, i);
      free = before;
      end[i] = notEnded;
    }
  }

  const OverlapProblem &problem;
  const std::vector<double> chain;
  std::vector<double> streamFree, end, start;
  OverlapSchedule best;
};

} // namespace

OverlapSchedule tpsp::scheduleSerial(const OverlapProblem &problem) {
  OverlapSchedule schedule;
  for (const OverlapProblem::Command &command : problem.commands) {
    schedule.start.push_back(schedule.seconds);
    schedule.seconds += command.seconds;
  }
  return schedule;
}

OverlapSchedule tpsp::scheduleExact(const OverlapProblem &problem) {
  assert(problem.commands.size() <= maxExactCommands && "too many to branch");
  return BranchAndBound(problem).run();
}
