#include "PipelineCheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

using namespace tpsp;

namespace {

using Work = PipelineWork;

/// Checks a schedule against the problem itself and not the scheduler's data.
class Check {
public:
  Check(const PipelineProblem &problem, const PipelineSchedule &schedule)
      : problem(problem), schedule(schedule),
        slack(1e-9 * std::max(schedule.seconds, 1e-300)) {}

  std::optional<std::string> run() {
    for (const PipelineCommand &command : schedule.commands)
      if (!all.emplace(keyOf(command.work, command.chunk, command.part),
                       command)
               .second)
        return name(command) + " is done twice";
    if (std::optional<std::string> problem = checkAll())
      return problem;
    if (std::optional<std::string> problem = checkLast())
      return problem;
    if (std::optional<std::string> problem = checkResources())
      return problem;
    return checkBounds();
  }

private:
  using Key = std::tuple<Work, int64_t, int64_t>;
  static Key keyOf(Work work, int64_t chunk, int64_t part) {
    return {work, chunk, part};
  }

  static std::string name(const PipelineCommand &command) {
    const char *names[] = {"forward", "backward", "weights", "sending forward",
                           "sending backward"};
    return fmt::format("{} of micro-batch {} in chunk {}",
                       names[size_t(command.work)], command.part,
                       command.chunk);
  }

  /// 0 1 2 0 1 2, or with a fold 0 1 2 2 1 0.
  int64_t stageOf(int64_t chunk) const {
    int64_t period = problem.isFolded ? 2 * problem.stages : problem.stages;
    int64_t place = chunk % period;
    return place < problem.stages ? place : period - 1 - place;
  }

  std::optional<std::string> checkAll() const {
    int64_t chunks = int64_t(problem.chunks.size()), expected = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t part = 0; part < problem.parts; ++part) {
        bool sends = chunk + 1 < chunks && stageOf(chunk) != stageOf(chunk + 1);
        bool sendsBack = problem.hasBackward && chunk > 0 &&
                         stageOf(chunk) != stageOf(chunk - 1);
        bool back = problem.hasBackward;
        for (auto [work, isThere] :
             {std::pair(Work::Forward, true),
              std::pair(Work::SendForward, sends),
              std::pair(Work::Backward, back),
              std::pair(Work::SendBackward, sendsBack),
              std::pair(Work::Weights, problem.splitsWeights)}) {
          if (!isThere)
            continue;
          ++expected;
          if (std::optional<std::string> wrong = checkOne(work, chunk, part))
            return wrong;
        }
      }
    if (int64_t(all.size()) != expected)
      return fmt::format("{} commands, not {}", all.size(), expected);
    return std::nullopt;
  }

  /// In every chunk the last micro-batch ends last. It reduces the gradients.
  std::optional<std::string> checkLast() const {
    for (size_t chunk = 0; chunk < problem.chunks.size(); ++chunk)
      for (int64_t part = 0; part + 1 < problem.parts; ++part) {
        auto endOf = [&](int64_t of) {
          return all.at(keyOf(problem.lastWork(), int64_t(chunk), of)).end;
        };
        if (endOf(part) > endOf(problem.parts - 1) + slack)
          return fmt::format("micro-batch {} ends after the last one in chunk "
                             "{}",
                             part, chunk);
      }
    return std::nullopt;
  }

  std::optional<std::string> checkOne(Work work, int64_t chunk,
                                      int64_t part) const {
    auto found = all.find(keyOf(work, chunk, part));
    if (found == all.end())
      return name({work, chunk, part}) + " is missing";
    const PipelineCommand &command = found->second;
    double seconds = problem.secondsOf(work, chunk, part);
    if (std::abs(command.end - command.start - seconds) > slack ||
        command.start < 0)
      return fmt::format("{} takes {} seconds, not {}", name(command),
                         command.end - command.start, seconds);
    for (const Key &before : dependences(work, chunk, part)) {
      auto earlier = all.find(before);
      if (earlier != all.end() && earlier->second.end > command.start + slack)
        return name(command) + " begins before the end of " +
               name(earlier->second);
    }
    return std::nullopt;
  }

  std::vector<Key> dependences(Work work, int64_t chunk, int64_t part) const {
    switch (work) {
    case Work::Forward:
      return {keyOf(Work::SendForward, chunk - 1, part),
              keyOf(Work::Forward, chunk - 1, part)};
    case Work::SendForward:
      return {keyOf(Work::Forward, chunk, part)};
    case Work::Backward:
      return {keyOf(Work::Forward, chunk, part),
              keyOf(Work::SendBackward, chunk + 1, part),
              keyOf(Work::Backward, chunk + 1, part)};
    case Work::SendBackward:
    case Work::Weights:
      return {keyOf(Work::Backward, chunk, part)};
    }
    return {};
  }

  std::optional<std::string> checkResources() const {
    std::map<std::pair<int64_t, bool>, const PipelineCommand *> last;
    std::vector<const PipelineCommand *> order;
    for (const PipelineCommand &command : schedule.commands)
      order.push_back(&command);
    std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
      return std::pair(a->start, a->end) < std::pair(b->start, b->end);
    });
    std::vector<double> lastForward(problem.stages),
        firstBackward(problem.stages, 1e300);
    for (const PipelineCommand *command : order) {
      int64_t stage = problem.stageOf(command->chunk);
      const PipelineCommand *&before = last[{stage, command->isSend()}];
      if (before && before->end > command->start + slack)
        return name(*command) + " runs at the same time as " + name(*before);
      before = command;
      if (command->work == Work::Forward)
        lastForward[stage] = std::max(lastForward[stage], command->end);
      if (command->work == Work::Backward)
        firstBackward[stage] = std::min(firstBackward[stage], command->start);
    }
    for (int64_t stage = 0; stage < problem.stages; ++stage)
      if (problem.forwardFirst &&
          firstBackward[stage] < lastForward[stage] - slack)
        return fmt::format("stage {} begins a backward command before its last "
                           "forward one",
                           stage);
    return std::nullopt;
  }

  std::optional<std::string> checkBounds() const {
    if (!problem.hasBackward)
      return std::nullopt;
    // At one time, ends come before begins: a unit that ends makes room for the
    // next.
    std::vector<std::vector<std::tuple<double, int, int64_t>>> changes(
        problem.stages);
    Work last = problem.splitsWeights ? Work::Weights : Work::Backward;
    for (const PipelineCommand &command : schedule.commands) {
      auto &of = changes[problem.stageOf(command.chunk)];
      if (command.work == Work::Forward)
        of.push_back({command.start + slack, 1, 1});
      if (command.work == last)
        of.push_back({command.end, 0, -1});
    }
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      std::sort(changes[stage].begin(), changes[stage].end());
      int64_t units = 0;
      for (auto [when, order, change] : changes[stage])
        if ((units += change) > problem.bound[stage])
          return fmt::format("stage {} saves {} units, and may {}", stage,
                             units, problem.bound[stage]);
    }
    return std::nullopt;
  }

  const PipelineProblem &problem;
  const PipelineSchedule &schedule;
  const double slack;
  std::map<Key, PipelineCommand> all;
};

} // namespace

std::optional<std::string> tpsp::verify(const PipelineProblem &problem,
                                        const PipelineSchedule &schedule) {
  return Check(problem, schedule).run();
}
