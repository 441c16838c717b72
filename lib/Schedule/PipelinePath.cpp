#include "tpsp/Schedule/PipelinePath.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

using namespace tpsp;
using Work = PipelineWork;

namespace {

class PathWalk {
public:
  PathWalk(const PipelineProblem &problem, const PipelineSchedule &schedule)
      : problem(problem), commands(schedule.commands),
        previous(commands.size(), none) {
    std::map<std::pair<int64_t, bool>, size_t> latest;
    for (size_t i = 0; i < commands.size(); ++i) {
      const PipelineCommand &command = commands[i];
      positions[{command.work, command.chunk, command.part}] = i;
      auto [place, isFirst] = latest.try_emplace(
          {problem.stageOf(command.chunk), command.isSend()}, i);
      if (!isFirst)
        previous[i] = std::exchange(place->second, i);
    }
  }

  std::vector<size_t> run(size_t last) const {
    std::vector<size_t> path;
    // Each step goes to an earlier command, so the path ends.
    for (size_t at = last; at != none && path.size() < commands.size();
         at = before(at))
      path.push_back(at);
    std::reverse(path.begin(), path.end());
    return path;
  }

private:
  static constexpr size_t none = size_t(-1);

  /// The command that ends last of those that the command waits for.
  size_t before(size_t at) const {
    const PipelineCommand &of = commands[at];
    size_t found = previous[at];
    for (const PipelineCommand &needed : readsOf(problem, of)) {
      auto place = positions.find({needed.work, needed.chunk, needed.part});
      if (place != positions.end() &&
          (found == none || commands[place->second].end > commands[found].end))
        found = place->second;
    }
    return found;
  }

  const PipelineProblem &problem;
  const std::vector<PipelineCommand> &commands;
  /// For each command, the one before it on its stage, or among its sends.
  std::vector<size_t> previous;
  std::map<std::tuple<Work, int64_t, int64_t>, size_t> positions;
};

} // namespace

std::vector<size_t> tpsp::criticalCommands(const PipelineProblem &problem,
                                           const PipelineSchedule &schedule,
                                           size_t last) {
  return PathWalk(problem, schedule).run(last);
}
