#include "tpsp/Schedule/OverlapSchedulers.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

using namespace tpsp;

namespace {

/// For each command, those that come after it.
std::vector<std::vector<int64_t>> successorsOf(const OverlapProblem &problem) {
  std::vector<std::vector<int64_t>> successors(problem.commands.size());
  for (auto [i, command] : llvm::enumerate(problem.commands))
    for (int64_t earlier : command.after)
      successors[earlier].push_back(i);
  return successors;
}

/// Claims on a pool that is used first in, first out.
class PoolState {
public:
  explicit PoolState(const BufferPool &pool) : capacity(pool.capacity) {}

  bool canGrant(int64_t bytes) const {
    return held == 0 || held + bytes <= capacity;
  }

  /// Grants a claim; returns the commands that it has to wait for, all ended.
  std::vector<int64_t> grant(int64_t bytes) {
    std::vector<int64_t> releasers;
    while (claimed + bytes > capacity && !released.empty()) {
      claimed -= released.front().bytes;
      llvm::append_range(releasers, released.front().users);
      released.pop_front();
    }
    claimed += bytes;
    held += bytes;
    return releasers;
  }

  void release(int64_t bytes, std::vector<int64_t> users) {
    held -= bytes;
    released.push_back({bytes, std::move(users)});
  }

private:
  struct Released {
    int64_t bytes;
    std::vector<int64_t> users;
  };

  int64_t capacity;
  /// Not released; and those plus what is released but what no later claim has
  /// waited for.
  int64_t held = 0, claimed = 0;
  std::deque<Released> released;
};

/// For each command, the longest chain of those behind it: what the step still
/// needs when it has ended. If several commands want one stream, the one with
/// the longest chain goes first (Jackson 1955). How long it takes itself does
/// not matter, since the others have to wait for it or it for them.
std::vector<double> tailsOf(const OverlapProblem &problem) {
  std::vector<double> chain = remainingChain(problem);
  std::vector<double> tails(chain.size(), 0);
  for (auto [i, command] : llvm::enumerate(problem.commands))
    for (int64_t earlier : command.after)
      tails[earlier] = std::max(tails[earlier], chain[i]);
  return tails;
}

/// Which order a stream would keep if pools had room for all. Commands take
/// their places one by one, the longest remaining chain first, each as early as
/// what it comes after allows. It may take a gap before others, but never puts
/// off one that has its place. So a stream keeps idle for what is urgent,
/// though something long could begin now.
class InsertionOrder {
public:
  explicit InsertionOrder(const OverlapProblem &problem)
      : problem(problem), start(problem.commands.size(), 0),
        gaps(problem.numStreams, {{0.0, infinite}}) {
    std::vector<double> chain = remainingChain(problem);
    std::vector<int64_t> byChain(problem.commands.size());
    std::iota(byChain.begin(), byChain.end(), 0);
    llvm::stable_sort(
        byChain, [&](int64_t a, int64_t b) { return chain[a] > chain[b]; });
    for (int64_t command : byChain)
      place(command);
  }

  /// The commands of each stream, in their order.
  std::vector<std::vector<int64_t>> run() const {
    std::vector<std::vector<int64_t>> order(problem.numStreams);
    for (auto [i, command] : llvm::enumerate(problem.commands))
      order[command.stream].push_back(i);
    for (std::vector<int64_t> &commands : order)
      llvm::stable_sort(
          commands, [&](int64_t a, int64_t b) { return start[a] < start[b]; });
    return order;
  }

private:
  static constexpr double infinite = 1e300;

  void place(int64_t number) {
    const OverlapProblem::Command &command = problem.commands[number];
    double ready = 0;
    for (int64_t earlier : command.after)
      ready =
          std::max(ready, start[earlier] + problem.commands[earlier].seconds);
    std::map<double, double> &free = gaps[command.stream];
    auto gap = gapFor(free, ready, command.seconds);
    auto [begin, end] = *gap;
    start[number] = std::max(ready, begin);
    double ended = start[number] + command.seconds;
    free.erase(gap);
    if (begin < start[number])
      free[begin] = start[number];
    if (ended < end)
      free[ended] = end;
  }

  /// The first gap, of (begin, end), with room behind `ready`. Only so many are
  /// looked at: else a step of many small gaps would take quadratic time.
  static std::map<double, double>::iterator
  gapFor(std::map<double, double> &free, double ready, double seconds) {
    constexpr int mostGaps = 64;
    auto gap = free.upper_bound(ready);
    if (gap != free.begin())
      --gap;
    for (int looked = 0; std::max(ready, gap->first) + seconds > gap->second;)
      gap = ++looked < mostGaps ? std::next(gap) : std::prev(free.end());
    return gap;
  }

  const OverlapProblem &problem;
  std::vector<double> start;
  std::vector<std::map<double, double>> gaps;
};

/// Ready commands of one stream.
class ReadySet {
public:
  explicit ReadySet(const OverlapProblem &problem,
                    const std::vector<double> &tail)
      : problem(problem), tail(tail) {}

  void insert(int64_t command) {
    byOrder.insert(command);
    byTail.insert(
        {-tail[command], -problem.commands[command].seconds, command});
    seconds += problem.commands[command].seconds;
  }
  void erase(int64_t command) {
    byOrder.erase(command);
    byTail.erase({-tail[command], -problem.commands[command].seconds, command});
    seconds -= problem.commands[command].seconds;
  }
  bool empty() const { return byOrder.empty(); }
  int64_t oldest() const { return *byOrder.begin(); }

  /// What to start if at most `reserve` seconds of the rest may wait.
  int64_t choose(double reserve) const {
    int64_t urgent = std::get<2>(*byTail.begin());
    double putOff = seconds - problem.commands[urgent].seconds;
    return putOff > reserve ? oldest() : urgent;
  }

private:
  const OverlapProblem &problem;
  const std::vector<double> &tail;
  std::set<int64_t> byOrder;
  /// Ready commands by their tail. Of equals the longest goes first, such as
  /// work that nobody waits for: what it keeps is most often the largest.
  std::set<std::tuple<double, double, int64_t>> byTail;
  double seconds = 0;
};

/// One run of list scheduling.
class ListScheduler {
public:
  /// `order`: what streams but 0 keep to; empty for what is ready first.
  ListScheduler(const OverlapProblem &problem, double reserve,
                std::vector<std::vector<int64_t>> order = {})
      : problem(problem), reserve(reserve), tail(tailsOf(problem)),
        successors(successorsOf(problem)), order(std::move(order)),
        next(problem.numStreams, 0), started(problem.commands.size(), false),
        busy(problem.numStreams, false), missing(problem.commands.size()) {
    for (const BufferPool &pool : problem.pools)
      pools.emplace_back(pool);
    for (int64_t i = 0; i < 2 * problem.numStreams; ++i)
      ready.emplace_back(problem, tail);
    schedule.start.assign(problem.commands.size(), 0);
    countUsers();
  }

  OverlapSchedule run() {
    for (auto [i, command] : llvm::enumerate(problem.commands)) {
      missing[i] = command.after.size();
      if (missing[i] == 0)
        setOf(i).insert(i);
    }
    for (size_t left = problem.commands.size(); left > 0;) {
      left -= startAll();
      if (running.empty())
        left -= overdraw();
      finishNext();
    }
    while (!running.empty())
      finishNext();
    schedule.seconds = now;
    return std::move(schedule);
  }

private:
  using Completion = std::pair<double, int64_t>;

  /// Commands that claim are apart, so that those that wait for a pool do not
  /// stand before those that need none.
  ReadySet &setOf(int64_t command) {
    const OverlapProblem::Command &c = problem.commands[command];
    return ready[2 * c.stream + !c.claims.empty()];
  }

  bool canStart(int64_t command) const {
    const OverlapProblem::Command &c = problem.commands[command];
    return llvm::all_of(c.claims, [&](const BufferClaim &claim) {
      return pools[claim.pool].canGrant(c.bytesClaimed(claim.pool));
    });
  }

  void start(int64_t command) {
    setOf(command).erase(command);
    const OverlapProblem::Command &c = problem.commands[command];
    for (const BufferClaim &claim : c.claims)
      for (int64_t user : pools[claim.pool].grant(claim.bytes))
        schedule.added.push_back({user, command});
    schedule.start[command] = now;
    started[command] = true;
    busy[c.stream] = true;
    running.push({now + c.seconds, command});
  }

  /// The next command of a stream's order, if it can start.
  std::optional<int64_t> nextInOrder(int64_t stream) {
    size_t &position = next[stream];
    while (position < order[stream].size() && started[order[stream][position]])
      ++position;
    if (position == order[stream].size())
      return std::nullopt;
    int64_t command = order[stream][position];
    if (missing[command] > 0 || !canStart(command))
      return std::nullopt;
    return command;
  }

  /// The command that `stream` should start now, if there is one.
  std::optional<int64_t> choose(int64_t stream) {
    if (stream != 0 && !order.empty())
      return nextInOrder(stream);
    const ReadySet &plain = ready[2 * stream],
                   &claiming = ready[2 * stream + 1];
    double limit = stream == 0 ? reserve : infinite;
    std::optional<int64_t> best;
    if (!plain.empty())
      best = plain.choose(limit);
    if (claiming.empty())
      return best;
    int64_t claimer = claiming.choose(limit);
    if (!canStart(claimer))
      return best;
    if (!best)
      return claimer;
    bool claimerFirst = limit > 0 && tail[claimer] != tail[*best]
                            ? tail[claimer] > tail[*best]
                            : claimer < *best;
    return claimerFirst ? claimer : best;
  }

  size_t startAll() {
    size_t started = 0;
    for (int64_t stream = 0; stream < problem.numStreams; ++stream) {
      if (busy[stream])
        continue;
      if (std::optional<int64_t> command = choose(stream)) {
        start(*command);
        ++started;
      }
    }
    return started;
  }

  /// Nothing runs and all that is ready waits for a pool: the oldest goes on.
  size_t overdraw() {
    std::optional<int64_t> oldest;
    for (const ReadySet &set : ready)
      if (!set.empty() && (!oldest || set.oldest() < *oldest))
        oldest = set.oldest();
    if (!oldest)
      return 0;
    schedule.overdrawn.push_back(*oldest);
    start(*oldest);
    return 1;
  }

  void finishNext() {
    if (running.empty())
      return;
    now = running.top().first;
    while (!running.empty() && running.top().first <= now) {
      int64_t command = running.top().second;
      running.pop();
      busy[problem.commands[command].stream] = false;
      for (int64_t later : successors[command])
        if (--missing[later] == 0)
          setOf(later).insert(later);
      for (const auto &[claimer, number] : releases[command])
        releaseOne(claimer, number);
    }
  }

  //===--------------------------------------------------------------------===//
  // Claims: each counts the users that have not ended.
  //===--------------------------------------------------------------------===//

  void countUsers() {
    users.resize(problem.commands.size());
    releases.resize(problem.commands.size());
    for (auto [i, command] : llvm::enumerate(problem.commands))
      for (auto [number, claim] : llvm::enumerate(command.claims)) {
        users[i].push_back(claim.releasedBy.size());
        for (int64_t user : claim.releasedBy)
          releases[user].push_back({int64_t(i), int64_t(number)});
      }
  }

  void releaseOne(int64_t claimer, int64_t number) {
    if (--users[claimer][number] > 0)
      return;
    const BufferClaim &claim = problem.commands[claimer].claims[number];
    pools[claim.pool].release(claim.bytes, claim.releasedBy);
  }

  static constexpr double infinite = 1e300;

  const OverlapProblem &problem;
  const double reserve;
  const std::vector<double> tail;
  const std::vector<std::vector<int64_t>> successors;
  const std::vector<std::vector<int64_t>> order;
  /// For each stream, a position in its order; all commands before it have
  /// started.
  std::vector<size_t> next;
  std::vector<bool> started;
  std::vector<ReadySet> ready;
  std::vector<bool> busy;
  std::vector<int64_t> missing;
  std::vector<PoolState> pools;
  std::vector<std::vector<int64_t>> users;
  std::vector<std::vector<std::pair<int64_t, int64_t>>> releases;
  std::priority_queue<Completion, std::vector<Completion>,
                      std::greater<Completion>>
      running;
  double now = 0;
  OverlapSchedule schedule;
};

} // namespace

OverlapSchedule tpsp::scheduleList(const OverlapProblem &problem,
                                   double reserve) {
  return ListScheduler(problem, reserve).run();
}

OverlapSchedule tpsp::scheduleList(const OverlapProblem &problem) {
  double longest = 0;
  for (const OverlapProblem::Command &command : problem.commands)
    if (command.stream != 0)
      longest = std::max(longest, command.seconds);
  constexpr double better = 0.995;
  OverlapSchedule best = scheduleList(problem, 0);
  auto offer = [&](OverlapSchedule next) {
    if (next.seconds < better * best.seconds &&
        next.overdrawn.size() <= best.overdrawn.size())
      best = std::move(next);
  };
  std::vector<std::vector<int64_t>> order = InsertionOrder(problem).run();
  for (double factor : {0.0, 0.5, 1.0, 2.0, 4.0, 16.0}) {
    double reserve = factor * longest;
    if (factor > 0)
      offer(scheduleList(problem, reserve));
    offer(ListScheduler(problem, reserve, order).run());
  }
  return best;
}
