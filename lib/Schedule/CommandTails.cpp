#include "CommandTails.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <queue>
#include <set>

using namespace tpsp;

NumberedLists<int64_t> tpsp::successorsOf(const OverlapProblem &problem) {
  return NumberedLists<int64_t>(problem.commands.size(), [&](auto add) {
    for (auto [i, command] : llvm::enumerate(problem.commands))
      for (int64_t earlier : command.after)
        add(earlier, i);
  });
}

std::vector<double> tpsp::chainTails(const OverlapProblem &problem) {
  std::vector<double> chain = remainingChain(problem);
  std::vector<double> tails(chain.size(), 0);
  for (auto [i, command] : llvm::enumerate(problem.commands))
    for (int64_t earlier : command.after)
      tails[earlier] = std::max(tails[earlier], chain[i]);
  return tails;
}

namespace {

/// For each command, the longest chain of commands before it, in seconds.
std::vector<double> headsOf(const OverlapProblem &problem) {
  std::vector<double> heads(problem.commands.size(), 0);
  for (auto [i, command] : llvm::enumerate(problem.commands))
    for (int64_t earlier : command.after)
      heads[i] = std::max(heads[i],
                          heads[earlier] + problem.commands[earlier].seconds);
  return heads;
}

/// List scheduling of the reversed step. A command is ready when all commands
/// after it are done. The ready command with the longest head goes first.
class ReversedStep {
public:
  explicit ReversedStep(const OverlapProblem &problem)
      : problem(problem), heads(headsOf(problem)),
        missing(problem.commands.size(), 0), start(problem.commands.size(), 0),
        ready(problem.numStreams), busy(problem.numStreams, false) {
    for (const OverlapProblem::Command &command : problem.commands)
      for (int64_t earlier : command.after)
        ++missing[earlier];
  }

  /// The start of each command, counted from the step's end.
  std::vector<double> starts() {
    for (int64_t i = missing.size(); i-- > 0;)
      if (missing[i] == 0)
        makeReady(i);
    startAll();
    while (!running.empty()) {
      finishNext();
      startAll();
    }
    return std::move(start);
  }

private:
  using Completion = std::pair<double, int64_t>;

  void makeReady(int64_t command) {
    ready[problem.commands[command].stream].insert({heads[command], command});
  }

  void startAll() {
    for (auto [stream, waiting] : llvm::enumerate(ready)) {
      if (busy[stream] || waiting.empty())
        continue;
      auto last = std::prev(waiting.end());
      int64_t command = last->second;
      waiting.erase(last);
      busy[stream] = true;
      start[command] = now;
      running.push({now + problem.commands[command].seconds, command});
    }
  }

  void finishNext() {
    now = running.top().first;
    while (!running.empty() && running.top().first <= now) {
      const auto &command = problem.commands[running.top().second];
      running.pop();
      busy[command.stream] = false;
      for (int64_t earlier : command.after)
        if (--missing[earlier] == 0)
          makeReady(earlier);
    }
  }

  const OverlapProblem &problem;
  const std::vector<double> heads;
  /// Per command, the number of later dependent commands that are not done.
  std::vector<int64_t> missing;
  std::vector<double> start;
  /// Per stream, the ready commands by head. Among equals the latest in the
  /// step is last.
  std::vector<std::set<std::pair<double, int64_t>>> ready;
  std::vector<bool> busy;
  std::priority_queue<Completion, std::vector<Completion>,
                      std::greater<Completion>>
      running;
  double now = 0;
};

} // namespace

std::vector<double> tpsp::streamTails(const OverlapProblem &problem) {
  return ReversedStep(problem).starts();
}
