#include "tpsp/Schedule/OverlapSchedulers.h"

#include "CommandTails.h"
#include "MemoryAccount.h"
#include "NumberSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <tuple>

using namespace tpsp;

namespace {

constexpr double infinite = 1e300;

/// For each command, the seconds of computing before the first command that
/// waits for it, in the problem's order.
std::vector<double> needsOf(const OverlapProblem &problem) {
  std::vector<double> needs;
  double computed = 0;
  for (const OverlapProblem::Command &command : problem.commands) {
    needs.push_back(computed);
    computed += command.stream == 0 ? command.seconds : 0;
  }
  std::vector<double> first(needs.size(), infinite);
  for (size_t i = needs.size(); i-- > 0;) {
    bool computes = problem.commands[i].stream == 0;
    // A command that no other waits for is needed at its own place.
    double need = computes || first[i] == infinite ? needs[i] : first[i];
    for (int64_t earlier : problem.commands[i].after)
      first[earlier] = std::min(first[earlier], need);
    needs[i] = need;
  }
  return needs;
}

/// All commands in a fixed order, by which sets of them are sorted.
class CommandOrder {
public:
  /// `isLess(a, b)`: whether command a comes before command b.
  template <typename Less>
  CommandOrder(size_t count, Less isLess) : ranks(count) {
    commands = llvm::to_vector(llvm::seq<int64_t>(0, count));
    llvm::sort(commands, isLess);
    for (auto [rank, command] : llvm::enumerate(commands))
      ranks[command] = int64_t(rank);
  }

  int64_t rankOf(int64_t command) const { return ranks[command]; }
  int64_t at(int64_t rank) const { return commands[rank]; }
  size_t size() const { return ranks.size(); }

private:
  std::vector<int64_t> ranks;
  llvm::SmallVector<int64_t, 0> commands;
};

/// The order in which ready commands are chosen: that with the longest tail
/// first. Among equal tails the longest command goes first, such as work that
/// no command waits for. It most often keeps the largest buffers.
CommandOrder orderByTail(const OverlapProblem &problem,
                         const std::vector<double> &tail) {
  auto key = [&](int64_t command) {
    return std::tuple(-tail[command], -problem.commands[command].seconds,
                      command);
  };
  return CommandOrder(tail.size(),
                      [&](int64_t a, int64_t b) { return key(a) < key(b); });
}

/// Ready commands of one stream.
class ReadySet {
public:
  ReadySet(const OverlapProblem &problem, const CommandOrder &order)
      : problem(problem), order(order), byPosition(order.size()),
        byRank(order.size()) {}

  void insert(int64_t command) {
    byPosition.insert(command);
    byRank.insert(order.rankOf(command));
    seconds += problem.commands[command].seconds;
  }
  void erase(int64_t command) {
    byPosition.erase(command);
    byRank.erase(order.rankOf(command));
    seconds -= problem.commands[command].seconds;
  }
  bool empty() const { return byPosition.empty(); }
  int64_t oldest() const { return byPosition.first(); }

  /// Returns the first ready command of the order that may start, if the others
  /// take at most `reserve` seconds. Else returns the oldest one, if it may
  /// start. Only a few commands are asked, because a step with little memory
  /// would otherwise take quadratic time.
  template <typename MayStart>
  std::optional<int64_t> choose(double reserve, MayStart mayStart) const {
    constexpr int mostAsked = 8;
    int asked = 0;
    for (int64_t rank = byRank.first(); rank >= 0; rank = byRank.next(rank)) {
      int64_t command = order.at(rank);
      if (seconds - problem.commands[command].seconds > reserve ||
          asked++ == mostAsked)
        break;
      if (mayStart(command))
        return command;
    }
    if (!empty() && mayStart(oldest()))
      return oldest();
    return std::nullopt;
  }

private:
  const OverlapProblem &problem;
  const CommandOrder &order;
  NumberSet byPosition, byRank;
  double seconds = 0;
};

/// One phase of stream 0: how many commands have not started, and the ready
/// ones that wait for earlier phases.
struct Phase {
  int64_t left = 0;
  std::vector<int64_t> waiting;
};

/// The input that all runs for one problem share.
struct ListInput {
  explicit ListInput(const OverlapProblem &problem)
      : problem(problem), needs(needsOf(problem)),
        byNeed(needs.size(),
               [&](int64_t a, int64_t b) {
                 return std::pair(needs[a], a) < std::pair(needs[b], b);
               }),
        successors(successorsOf(problem)), memory(problem) {
    for (const OverlapProblem::Command &command : problem.commands) {
      missing.push_back(int64_t(command.after.size()));
      if (command.stream == 0)
        ++phases[command.phase].left;
    }
  }

  const OverlapProblem &problem;
  const std::vector<double> needs;
  const CommandOrder byNeed;
  const NumberedLists<int64_t> successors;
  const MemoryAccount memory;
  /// For each command, the number of commands that it waits for.
  std::vector<int64_t> missing;
  std::map<int64_t, Phase> phases;
};

/// One run of list scheduling.
class ListScheduler {
public:
  /// The ready command of a stream that comes first in `order` goes first.
  ListScheduler(const ListInput &input, double reserve, double window,
                const CommandOrder &order)
      : problem(input.problem), reserve(reserve), window(window),
        needs(input.needs), byNeed(input.byNeed), successors(input.successors),
        ready(problem.numStreams, ReadySet(problem, order)),
        phases(input.phases), early(needs.size()), gates(needs.size(), -1),
        busy(problem.numStreams, false), missing(input.missing),
        memory(input.memory) {
    schedule.start.assign(problem.commands.size(), 0);
  }

  OverlapSchedule run() {
    for (size_t i = 0; i < missing.size(); ++i)
      if (missing[i] == 0)
        makeReady(i);
    for (size_t left = problem.commands.size(); left > 0;) {
      left -= startAll();
      // If all commands wait for memory, the oldest one may start.
      if (running.empty() && left > 0) {
        start(memory.oldest());
        --left;
      }
      finishNext();
    }
    while (!running.empty())
      finishNext();
    schedule.seconds = now;
    return std::move(schedule);
  }

private:
  using Completion = std::pair<double, int64_t>;

  void makeReady(int64_t command) {
    const OverlapProblem::Command &c = problem.commands[command];
    if (c.stream == 0 && c.phase != phases.begin()->first)
      phases[c.phase].waiting.push_back(command);
    else if (!isDue(command))
      early.insert(byNeed.rankOf(command));
    else
      ready[c.stream].insert(command);
  }

  /// Whether a command is needed soon. An earlier start only takes memory.
  bool isDue(int64_t command) const {
    return needs[command] <= computed + reserve + window;
  }

  void advance(int64_t command) {
    computed += problem.commands[command].seconds;
    while (!early.empty() && isDue(byNeed.at(early.first()))) {
      int64_t due = byNeed.at(early.first());
      early.erase(early.first());
      ready[problem.commands[due].stream].insert(due);
      if (latest >= 0 && problem.commands[due].stream != 0)
        gates[due] = latest;
    }
    latest = command;
  }

  void start(int64_t command) {
    const OverlapProblem::Command &c = problem.commands[command];
    if (int64_t rank = byNeed.rankOf(command); early.contains(rank))
      early.erase(rank);
    else
      ready[c.stream].erase(command);
    for (int64_t user : memory.start(command))
      schedule.added.push_back({user, command});
    if (gates[command] >= 0)
      schedule.added.push_back({gates[command], command});
    schedule.start[command] = now;
    busy[c.stream] = true;
    running.push({now + c.seconds, command});
    if (c.stream != 0)
      return;
    advance(command);
    if (--phases[c.phase].left == 0)
      beginNextPhase();
  }

  void beginNextPhase() {
    phases.erase(phases.begin());
    if (phases.empty())
      return;
    for (int64_t command : phases.begin()->second.waiting)
      ready[0].insert(command);
  }

  /// The command that `stream` should start now, if there is one.
  std::optional<int64_t> choose(int64_t stream, double mayWait) {
    return ready[stream].choose(
        mayWait, [&](int64_t command) { return memory.canStart(command); });
  }

  size_t startAll() {
    size_t count = 0;
    bool isBlocked = false; // whether communication waits for memory
    for (int64_t stream = problem.numStreams; stream-- > 0;) {
      if (busy[stream])
        continue;
      double mayWait = stream > 0 ? infinite : isBlocked ? 0 : reserve;
      if (std::optional<int64_t> command = choose(stream, mayWait)) {
        start(*command);
        ++count;
      } else {
        isBlocked |= !ready[stream].empty();
      }
    }
    return count;
  }

  void finishNext() {
    if (running.empty())
      return;
    now = running.top().first;
    while (!running.empty() && running.top().first <= now) {
      int64_t command = running.top().second;
      running.pop();
      busy[problem.commands[command].stream] = false;
      memory.finish(command);
      for (int64_t later : successors[command])
        if (--missing[later] == 0)
          makeReady(later);
    }
  }

  const OverlapProblem &problem;
  const double reserve, window;
  const std::vector<double> &needs;
  const CommandOrder &byNeed;
  const NumberedLists<int64_t> &successors;
  std::vector<ReadySet> ready;
  std::map<int64_t, Phase> phases;
  /// Ready commands that are not due, as their ranks in `byNeed`.
  NumberSet early;
  /// Seconds of the commands of stream 0 that have started, and the latest of
  /// these commands.
  double computed = 0;
  int64_t latest = -1;
  /// For communication that was ready before it was due, the computation that
  /// it waits for; -1 for other commands. Without it, the communication would
  /// begin as soon as its stream is idle.
  std::vector<int64_t> gates;
  std::vector<bool> busy;
  std::vector<int64_t> missing;
  MemoryAccount memory;
  std::priority_queue<Completion, std::vector<Completion>,
                      std::greater<Completion>>
      running;
  double now = 0;
  OverlapSchedule schedule;
};

} // namespace

OverlapSchedule tpsp::scheduleList(const OverlapProblem &problem,
                                   double reserve) {
  ListInput input(problem);
  return ListScheduler(input, reserve, infinite,
                       orderByTail(problem, chainTails(problem)))
      .run();
}

std::vector<ListSetting> tpsp::listSettings() {
  std::vector<ListSetting> settings;
  auto add = [&](bool knowsLinks, std::initializer_list<double> reserves) {
    for (double reserve : reserves)
      for (double window : {8.0, 2.0, 0.0})
        settings.push_back({reserve, window, knowsLinks});
  };
  add(false, {0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0});
  add(true, {16.0, 64.0});
  return settings;
}

static bool isSame(const OverlapSchedule &a, const OverlapSchedule &b) {
  return a.seconds == b.seconds && a.start == b.start && a.added == b.added;
}

std::vector<ListVariant>
tpsp::scheduleVariants(const OverlapProblem &problem,
                       const std::vector<ListSetting> &settings,
                       std::vector<ListVariant> known) {
  double longest = 0;
  for (const OverlapProblem::Command &command : problem.commands)
    if (command.stream != 0)
      longest = std::max(longest, command.seconds);
  const ListInput input(problem);
  const CommandOrder chains = orderByTail(problem, chainTails(problem)),
                     links = orderByTail(problem, streamTails(problem));
  std::vector<ListVariant> found = std::move(known);
  for (const ListSetting &setting : settings) {
    if (llvm::any_of(found, [&](const ListVariant &other) {
          return other.setting == setting;
        }))
      continue;
    OverlapSchedule next = ListScheduler(input, setting.reserve * longest,
                                         setting.window * longest,
                                         setting.knowsLinks ? links : chains)
                               .run();
    if (llvm::none_of(found, [&](const ListVariant &other) {
          return isSame(other.schedule, next);
        }))
      found.push_back({setting, std::move(next)});
  }
  // Compares in steps of half a per cent. Among equals, the setting that puts
  // off least stays first.
  auto steps = [](const ListVariant &variant) {
    return std::ceil(std::log(variant.schedule.seconds + 1e-30) / 0.005);
  };
  llvm::stable_sort(found, [&](const ListVariant &a, const ListVariant &b) {
    return steps(a) < steps(b);
  });
  return found;
}

OverlapSchedule tpsp::scheduleList(const OverlapProblem &problem) {
  return std::move(scheduleVariants(problem).front().schedule);
}
