#include "tpsp/Schedule/OverlapProblem.h"

#include "tpsp/Abi/LiveBytes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

using namespace tpsp;

template <typename... Args>
static std::string message(const char *format, const Args &...args) {
  return llvm::formatv(format, args...).str();
}

/// Sums of seconds are rounded: what begins this much too early begins in time.
static constexpr double roundingSeconds = 1e-12;

std::optional<std::string> OverlapProblem::check() const {
  int64_t phase = 0;
  for (auto [i, command] : llvm::enumerate(commands)) {
    int64_t position = i;
    if (!(command.seconds >= 0) || !std::isfinite(command.seconds))
      return message("command {0} takes {1} s", i, command.seconds);
    if (command.stream < 0 || command.stream >= numStreams)
      return message("command {0} is on stream {1} of {2}", i, command.stream,
                     numStreams);
    for (int64_t earlier : command.after)
      if (earlier < 0 || earlier >= position)
        return message("command {0} comes after command {1}, which is not "
                       "before it",
                       i, earlier);
    if (command.stream == 0 && command.phase < phase)
      return message("command {0} is of phase {1}, behind one of phase {2}", i,
                     command.phase, phase);
    if (command.stream == 0)
      phase = command.phase;
  }
  for (auto [i, buffer] : llvm::enumerate(buffers)) {
    if (buffer.users.empty() || buffer.bytes < 0)
      return message("buffer {0} has {1} bytes and {2} users", i, buffer.bytes,
                     buffer.users.size());
    if (!llvm::is_sorted(buffer.users) || buffer.users.front() < 0 ||
        buffer.users.back() >= int64_t(commands.size()))
      return message("the users of buffer {0} are no ascending positions", i);
  }
  return std::nullopt;
}

int64_t OverlapProblem::serialPeak() const {
  LiveBytes live;
  for (const OverlapBuffer &buffer : buffers)
    live.add(buffer.livesBefore ? 0 : buffer.users.front(),
             buffer.livesAfter ? int64_t(commands.size()) - 1
                               : buffer.users.back(),
             buffer.bytes);
  return live.most();
}

namespace {

/// Finds startOrder().
class StartOrder {
public:
  StartOrder(const OverlapProblem &problem, const OverlapSchedule &schedule)
      : problem(problem), schedule(schedule),
        missing(problem.commands.size(), 0) {
    for (size_t i = 0; i < missing.size(); ++i)
      for (int64_t earlier : problem.commands[i].after)
        note(earlier, int64_t(i));
    for (auto [earlier, later] : schedule.added)
      note(earlier, later);
    llvm::sort(together);
  }

  std::vector<int64_t> run() {
    std::vector<int64_t> sorted(missing.size());
    std::iota(sorted.begin(), sorted.end(), 0);
    llvm::sort(sorted, [&](int64_t a, int64_t b) { return key(a) < key(b); });
    for (size_t first = 0, last = 0; first < sorted.size(); first = last) {
      while (last < sorted.size() &&
             schedule.start[sorted[last]] == schedule.start[sorted[first]])
        ++last;
      addTogether(llvm::ArrayRef(sorted).slice(first, last - first));
    }
    // Commands that wait for each other in a circle have no valid schedule.
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i] > 0)
        order.push_back(int64_t(i));
    return std::move(order);
  }

private:
  using Key = std::tuple<double, bool, int64_t>;

  Key key(int64_t command) const {
    return {schedule.start[command], problem.commands[command].seconds > 0,
            command};
  }

  /// Commands that take no time can start together and still follow each other.
  void note(int64_t earlier, int64_t later) {
    if (schedule.start[earlier] != schedule.start[later])
      return;
    together.push_back({earlier, later});
    ++missing[later];
  }

  /// Adds commands that start together. They are sorted by key().
  void addTogether(llvm::ArrayRef<int64_t> commands) {
    if (llvm::all_of(commands, [&](int64_t c) { return missing[c] == 0; })) {
      order.insert(order.end(), commands.begin(), commands.end());
      return;
    }
    std::set<Key> next;
    for (int64_t command : commands)
      if (missing[command] == 0)
        next.insert(key(command));
    while (!next.empty()) {
      int64_t command = std::get<2>(*next.begin());
      next.erase(next.begin());
      order.push_back(command);
      for (auto pair =
               llvm::lower_bound(together, std::pair(command, int64_t(0)));
           pair != together.end() && pair->first == command; ++pair)
        if (--missing[pair->second] == 0)
          next.insert(key(pair->second));
    }
  }

  const OverlapProblem &problem;
  const OverlapSchedule &schedule;
  /// Dependences between commands that start together, as (earlier, later).
  std::vector<std::pair<int64_t, int64_t>> together;
  /// For each command, how many of `together` it waits for.
  std::vector<int64_t> missing;
  std::vector<int64_t> order;
};

} // namespace

std::vector<int64_t> tpsp::startOrder(const OverlapProblem &problem,
                                      const OverlapSchedule &schedule) {
  return StartOrder(problem, schedule).run();
}

std::vector<double> tpsp::remainingChain(const OverlapProblem &problem) {
  std::vector<double> chain(problem.commands.size(), 0);
  for (size_t i = chain.size(); i-- > 0;) {
    chain[i] += problem.commands[i].seconds;
    for (int64_t earlier : problem.commands[i].after)
      chain[earlier] = std::max(chain[earlier], chain[i]);
  }
  return chain;
}

namespace {

class Verifier {
public:
  Verifier(const OverlapProblem &problem, const OverlapSchedule &schedule)
      : problem(problem), schedule(schedule) {}

  std::optional<std::string> run() const {
    if (schedule.start.size() != problem.commands.size())
      return message("{0} starts for {1} commands", schedule.start.size(),
                     problem.commands.size());
    if (auto wrong = checkDependences())
      return wrong;
    const std::vector<int64_t> order = startOrder(problem, schedule);
    if (auto wrong = checkStreams(order))
      return wrong;
    if (auto wrong = checkPhases(order))
      return wrong;
    return checkMemory();
  }

private:
  double end(int64_t command) const {
    return schedule.start[command] + problem.commands[command].seconds;
  }

  bool isBefore(int64_t earlier, int64_t later) const {
    return end(earlier) <= schedule.start[later] + roundingSeconds;
  }

  std::optional<std::string> checkDependences() const {
    double last = 0;
    for (auto [i, command] : llvm::enumerate(problem.commands)) {
      if (!(schedule.start[i] >= 0))
        return message("command {0} starts at {1} s", i, schedule.start[i]);
      for (int64_t earlier : command.after)
        if (!isBefore(earlier, i))
          return message("command {0} starts at {1} s, before command {2}, "
                         "which it comes after, has ended at {3} s",
                         i, schedule.start[i], earlier, end(earlier));
      last = std::max(last, end(i));
    }
    for (auto [earlier, later] : schedule.added)
      if (!isBefore(earlier, later))
        return message("command {0} starts before command {1} has ended, which "
                       "the schedule made it wait for",
                       later, earlier);
    if (std::abs(last - schedule.seconds) > roundingSeconds)
      return message("the schedule ends at {0} s, not at {1} s", last,
                     schedule.seconds);
    return std::nullopt;
  }

  std::optional<std::string>
  checkStreams(const std::vector<int64_t> &order) const {
    std::vector<int64_t> latest(problem.numStreams, -1);
    for (int64_t command : order) {
      int64_t &previous = latest[problem.commands[command].stream];
      if (previous >= 0 && !isBefore(previous, command))
        return message("stream {0} starts command {1} at {2} s, while command "
                       "{3} runs until {4} s",
                       problem.commands[command].stream, command,
                       schedule.start[command], previous, end(previous));
      previous = command;
    }
    return std::nullopt;
  }

  std::optional<std::string>
  checkPhases(const std::vector<int64_t> &order) const {
    int64_t latest = -1, phase = 0;
    for (int64_t command : order) {
      const OverlapProblem::Command &c = problem.commands[command];
      if (c.stream != 0)
        continue;
      if (c.phase < phase)
        return message("command {0} of phase {1} starts behind command {2} of "
                       "phase {3}",
                       command, c.phase, latest, phase);
      phase = c.phase;
      latest = command;
    }
    return std::nullopt;
  }

  /// By time: what ends before what starts at the same moment.
  std::optional<std::string> checkMemory() const {
    struct Change {
      double time;
      int64_t bytes, command;
    };
    std::vector<Change> changes;
    for (const OverlapBuffer &buffer : problem.buffers) {
      auto started = [&](int64_t a, int64_t b) {
        return schedule.start[a] < schedule.start[b];
      };
      auto ended = [&](int64_t a, int64_t b) { return end(a) < end(b); };
      int64_t first =
          *std::min_element(buffer.users.begin(), buffer.users.end(), started);
      int64_t last =
          *std::max_element(buffer.users.begin(), buffer.users.end(), ended);
      double from = buffer.livesBefore ? 0 : schedule.start[first];
      changes.push_back({from, buffer.bytes, first});
      if (!buffer.livesAfter)
        changes.push_back(
            {std::max(from, end(last) - roundingSeconds), -buffer.bytes, last});
    }
    llvm::stable_sort(changes, [](const Change &a, const Change &b) {
      return std::tie(a.time, a.bytes) < std::tie(b.time, b.bytes);
    });
    int64_t held = 0, most = std::max(problem.capacity, problem.serialPeak());
    for (const Change &change : changes)
      if ((held += change.bytes) > most && change.bytes > 0)
        return message("command {0} takes memory to {1} bytes of {2}",
                       change.command, held, most);
    return std::nullopt;
  }

  const OverlapProblem &problem;
  const OverlapSchedule &schedule;
};

} // namespace

std::optional<std::string> tpsp::verify(const OverlapProblem &problem,
                                        const OverlapSchedule &schedule) {
  return Verifier(problem, schedule).run();
}
