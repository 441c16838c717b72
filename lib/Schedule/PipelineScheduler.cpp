#include "tpsp/Schedule/StageActions.h"

#include <algorithm>
#include <array>
#include <queue>
#include <set>

using namespace tpsp;
using Work = PipelineWork;

namespace {

/// The numbered commands of a problem, and their dependences.
class Commands {
public:
  explicit Commands(const PipelineProblem &problem)
      : problem(problem), chunks(int64_t(problem.chunks.size())) {}

  int64_t size() const { return 5 * chunks * problem.parts; }
  int64_t numberOf(Work work, int64_t chunk, int64_t part) const {
    return (int64_t(work) * chunks + chunk) * problem.parts + part;
  }
  PipelineCommand command(int64_t number) const {
    PipelineCommand result;
    result.part = number % problem.parts;
    result.chunk = number / problem.parts % chunks;
    result.work = Work(number / problem.parts / chunks);
    return result;
  }
  bool exists(const PipelineCommand &of) const {
    switch (of.work) {
    case Work::Forward:
      return true;
    case Work::SendForward:
      return problem.sendsForward(of.chunk);
    case Work::Backward:
      return problem.hasBackward;
    case Work::SendBackward:
      return problem.hasBackward && problem.sendsBackward(of.chunk);
    case Work::Weights:
      return problem.splitsWeights;
    }
    return false;
  }
  /// The number of commands for which it waits.
  int64_t numBefore(const PipelineCommand &of) const {
    bool isFirst = of.chunk == 0, isLast = of.chunk + 1 == chunks;
    if (of.work == Work::Forward)
      return isFirst ? 0 : 1;
    return of.work == Work::Backward && !isLast ? 2 : 1;
  }
  /// Visits the numbers of the commands that wait for it.
  template <typename Visit>
  void forEachBehind(const PipelineCommand &of, Visit &&visit) const {
    auto tell = [&](Work work, int64_t chunk) {
      if (exists({work, chunk, of.part}))
        visit(numberOf(work, chunk, of.part));
    };
    switch (of.work) {
    case Work::Forward:
      tell(Work::SendForward, of.chunk);
      if (of.chunk + 1 < chunks && !problem.sendsForward(of.chunk))
        tell(Work::Forward, of.chunk + 1);
      return tell(Work::Backward, of.chunk);
    case Work::SendForward:
      return tell(Work::Forward, of.chunk + 1);
    case Work::Backward:
      tell(Work::SendBackward, of.chunk);
      if (of.chunk > 0 && !problem.sendsBackward(of.chunk))
        tell(Work::Backward, of.chunk - 1);
      return tell(Work::Weights, of.chunk);
    case Work::SendBackward:
      return tell(Work::Backward, of.chunk - 1);
    case Work::Weights:
      return;
    }
  }

private:
  const PipelineProblem &problem;
  int64_t chunks;
};

/// The units that a stage has saved, and the micro-batches that may still
/// begin.
class Units {
public:
  Units(int64_t bound, int64_t chunks, int64_t parts)
      : bound(bound), chunks(chunks), begun(parts) {}

  bool isFull() const { return used >= bound; }

  /// Whether `part` may begin one more chunk. Every unfinished micro-batch must
  /// then still be able to go forward, the oldest first.
  bool allows(int64_t part) const {
    if (isFull())
      return false;
    // Units of micro-batches that have begun all chunks will be returned.
    int64_t free = bound - 1;
    for (int64_t each : unfinished)
      free -= begun[each];
    bool isSeen = false;
    auto finish = [&](int64_t each, int64_t has) {
      if (free < chunks - has)
        return false;
      free += has;
      return true;
    };
    for (int64_t each : unfinished) {
      if (!isSeen && each >= part) {
        isSeen = true;
        if (!finish(part, begun[part] + 1))
          return false;
      }
      if (each != part && !finish(each, begun[each]))
        return false;
    }
    return isSeen || finish(part, begun[part] + 1);
  }

  void take(int64_t part) {
    most = std::max(most, ++used);
    if (++begun[part] < chunks)
      unfinished.insert(part);
    else
      unfinished.erase(part);
  }
  void give() { --used; }
  int64_t numUsed() const { return used; }
  int64_t peak() const { return most; }

private:
  int64_t bound, chunks, used = 0, most = 0;
  /// Per micro-batch, the number of chunks that have begun.
  std::vector<int64_t> begun;
  std::set<int64_t> unfinished;
};

class ListScheduler {
public:
  ListScheduler(const PipelineProblem &problem, const PipelineOrder &order)
      : problem(problem), order(order), commands(problem),
        waitsFor(commands.size()), ready(2 * problem.stages),
        isBusy(2 * problem.stages), isTouched(2 * problem.stages),
        forwardsLeft(problem.stages, problem.parts * problem.chunksPerStage),
        inFlight(problem.stages), hasBegun(commands.size()),
        inOrder(2 * problem.stages) {
    int64_t room = problem.parts * problem.chunksPerStage;
    for (int64_t stage = 0; stage < problem.stages; ++stage)
      units.emplace_back(problem.hasBackward ? problem.bound[stage] : room,
                         problem.chunksPerStage, problem.parts);
  }

  std::optional<PipelineSchedule> run() {
    for (int64_t number = 0; number < commands.size(); ++number)
      announce(number);
    for (InOrder &each : inOrder)
      std::sort(each.waiting.begin(), each.waiting.end());
    double now = 0;
    startTouched(now);
    while (!running.empty()) {
      now = finishNext();
      finishSendsWithoutTime(now);
      startTouched(now);
    }
    if (numLeft > 0)
      return std::nullopt;
    result.seconds = now;
    for (const Units &of : units)
      result.saved.push_back(of.peak());
    return std::move(result);
  }

private:
  using Key = std::array<int64_t, 5>;
  struct Ready {
    Key key;
    int64_t number;
    bool operator<(const Ready &other) const {
      return std::pair(key, number) < std::pair(other.key, other.number);
    }
  };

  struct InOrder {
    std::vector<Ready> waiting;
    /// All commands before it have begun.
    size_t first = 0;
  };

  void announce(int64_t number) {
    PipelineCommand command = commands.command(number);
    if (!commands.exists(command))
      return;
    ++numLeft;
    waitsFor[number] = commands.numBefore(command);
    if (command.work == Work::Forward || command.work == Work::Backward)
      inOrderOf(command).waiting.push_back({keyOf(command), number});
    if (waitsFor[number] == 0)
      makeReady(number);
  }

  int64_t resourceOf(const PipelineCommand &command) const {
    int64_t stage = problem.stageOf(command.chunk);
    return command.isSend() ? problem.stages + stage : stage;
  }

  Key keyOf(const PipelineCommand &command) const {
    bool isForward =
        command.work == Work::Forward || command.work == Work::SendForward;
    int64_t kind = command.work == Work::Weights       ? 2
                   : isForward == order.prefersForward ? 0
                                                       : 1;
    int64_t own = command.chunk / problem.stages;
    return {kind, command.part / order.group,
            isForward ? own : problem.chunksPerStage - 1 - own,
            command.part % order.group, 0};
  }

  void makeReady(int64_t number) {
    PipelineCommand command = commands.command(number);
    ready[resourceOf(command)].insert({keyOf(command), number});
    touch(resourceOf(command));
  }

  /// The commands of one kind on a stage.
  InOrder &inOrderOf(const PipelineCommand &command) {
    bool isForward = command.work == Work::Forward;
    return inOrder[2 * problem.stageOf(command.chunk) + (isForward ? 0 : 1)];
  }
  /// The first command that has not begun; null if all have.
  const Ready *firstOf(InOrder &commands) const {
    const std::vector<Ready> &all = commands.waiting;
    while (commands.first < all.size() && hasBegun[all[commands.first].number])
      ++commands.first;
    return commands.first < all.size() ? &all[commands.first] : nullptr;
  }

  bool mayStart(const PipelineCommand &command, int64_t number) {
    int64_t stage = problem.stageOf(command.chunk);
    if (command.work == Work::Weights)
      return !order.fewInFlight || hasManyPending(stage) ||
             !firstOf(inOrder[2 * stage + 1]);
    if (order.keepsOrder && firstOf(inOrderOf(command))->number != number)
      return false;
    if (command.work == Work::Backward) {
      if (order.alternates && !units[stage].isFull() &&
          firstOf(inOrder[2 * stage]))
        return false;
      return !problem.forwardFirst || forwardsLeft[stage] == 0;
    }
    return !hasManyInFlight(stage) && units[stage].allows(command.part);
  }

  bool hasManyInFlight(int64_t stage) const {
    return order.fewInFlight && inFlight[stage] >= problem.unitsOf1f1b(stage);
  }
  /// Whether more weights' gradients wait than the other units can hold.
  bool hasManyPending(int64_t stage) const {
    int64_t others =
        std::max<int64_t>(problem.bound[stage] - problem.unitsOf1f1b(stage), 0);
    return units[stage].numUsed() - inFlight[stage] > others;
  }

  /// The first command that may start; the end if none may.
  std::set<Ready>::iterator choose(int64_t resource) {
    std::set<Ready> &from = ready[resource];
    bool sends = resource >= problem.stages;
    for (auto it = from.begin(); it != from.end(); ++it) {
      PipelineCommand command = commands.command(it->number);
      if (sends || mayStart(command, it->number))
        return it;
      // If it has no room, other commands of its kind have none either.
      bool isForward = command.work == Work::Forward;
      if ((isForward && (units[resource].isFull() ||
                         hasManyInFlight(resource) || order.keepsOrder)) ||
          !isForward)
        it = std::prev(from.lower_bound({{it->key[0] + 1, 0, 0, 0, 0}, 0}));
    }
    return from.end();
  }

  /// Notes a change that may let the resource start a command.
  void touch(int64_t resource) {
    if (!isTouched[resource])
      touched.push_back(resource);
    isTouched[resource] = true;
  }

  void startTouched(double now) {
    std::sort(touched.begin(), touched.end());
    for (int64_t resource : touched) {
      isTouched[resource] = false;
      startOn(resource, now);
    }
    touched.clear();
  }

  /// Whether the first send that a link may start takes no time.
  bool sendsWithoutTime(int64_t link) const {
    if (ready[link].empty())
      return false;
    PipelineCommand command = commands.command(ready[link].begin()->number);
    return problem.secondsOf(command.work, command.chunk, command.part) == 0;
  }

  /// Stages choose among all that has arrived by now.
  void finishSendsWithoutTime(double now) {
    bool isEnded = true;
    while (isEnded) {
      for (int64_t resource : std::vector<int64_t>(touched))
        if (resource >= problem.stages && sendsWithoutTime(resource))
          startOn(resource, now);
      isEnded = !running.empty() && running.top().first <= now * (1 + 1e-12);
      if (isEnded)
        finishNext();
    }
  }

  void startOn(int64_t resource, double now) {
    if (isBusy[resource])
      return;
    auto chosen = choose(resource);
    if (chosen == ready[resource].end())
      return;
    int64_t number = chosen->number;
    ready[resource].erase(chosen);
    PipelineCommand command = commands.command(number);
    command.start = now;
    command.end =
        now + problem.secondsOf(command.work, command.chunk, command.part);
    int64_t stage = problem.stageOf(command.chunk);
    if (command.work == Work::Forward) {
      units[stage].take(command.part);
      ++inFlight[stage];
    }
    if (command.work == Work::Backward)
      --inFlight[stage];
    hasBegun[number] = true;
    isBusy[resource] = true;
    running.push({command.end, number});
    result.commands.push_back(command);
  }

  /// Finishes all commands that end now. Ends that differ only by rounding
  /// count as one moment.
  double finishNext() {
    double first = running.top().first, last = first;
    while (!running.empty() && running.top().first <= first * (1 + 1e-12)) {
      auto [end, number] = running.top();
      running.pop();
      last = std::max(last, end);
      finish(number);
    }
    return last;
  }

  void finish(int64_t number) {
    PipelineCommand command = commands.command(number);
    isBusy[resourceOf(command)] = false;
    touch(resourceOf(command));
    --numLeft;
    int64_t stage = problem.stageOf(command.chunk);
    if (command.work == Work::Forward)
      --forwardsLeft[stage];
    if (command.work ==
        (problem.splitsWeights ? Work::Weights : Work::Backward))
      units[stage].give();
    commands.forEachBehind(command, [&](int64_t next) {
      if (--waitsFor[next] == 0)
        makeReady(next);
    });
  }

  const PipelineProblem &problem;
  const PipelineOrder &order;
  Commands commands;
  /// Per command, the number of commands for which it still waits.
  std::vector<int64_t> waitsFor;
  /// The ready commands of each stage, then of each stage's link.
  std::vector<std::set<Ready>> ready;
  std::vector<bool> isBusy, isTouched;
  std::vector<int64_t> touched;
  std::vector<int64_t> forwardsLeft;
  /// By stage: forward commands begun, less backward ones.
  std::vector<int64_t> inFlight;
  std::vector<Units> units;
  std::vector<bool> hasBegun;
  /// Per stage, the forward commands and the backward commands.
  std::vector<InOrder> inOrder;
  using Running = std::pair<double, int64_t>;
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running;
  int64_t numLeft = 0;
  PipelineSchedule result;
};

} // namespace

std::optional<PipelineSchedule>
tpsp::scheduleList(const PipelineProblem &problem, const PipelineOrder &order) {
  return ListScheduler(problem, order).run();
}

/// The orders to try. Orders in which backward commands free units early come
/// first. Groups and keeping the order only matter with several chunks.
static std::vector<PipelineOrder> ordersOf(const PipelineProblem &problem) {
  std::vector<PipelineOrder> orders;
  bool isCyclic = problem.chunksPerStage > 1;
  for (bool prefersForward : {false, true})
    for (int64_t group : {problem.stages, int64_t(1)})
      for (auto [keepsOrder, alternates] :
           {std::pair(true, false), std::pair(true, true),
            std::pair(false, false)})
        if (isCyclic || (group == 1 && !keepsOrder))
          for (bool fewInFlight : {false, true})
            if (!fewInFlight || problem.splitsWeights)
              orders.push_back(
                  {prefersForward, group, keepsOrder, alternates, fewInFlight});
  return orders;
}

/// Whether all units of a step have room at once.
static bool hasRoomForAll(const PipelineProblem &problem) {
  return std::all_of(problem.bound.begin(), problem.bound.end(),
                     [&](int64_t units) {
                       return units >= problem.parts * problem.chunksPerStage;
                     });
}

/// Replaces `best` by a faster list schedule, if there is one.
static void tryOrders(const PipelineProblem &problem,
                      std::optional<PipelineSchedule> &best) {
  for (const PipelineOrder &order : ordersOf(problem)) {
    std::optional<PipelineSchedule> next = scheduleList(problem, order);
    if (next && (!best || next->seconds < best->seconds * (1 - 1e-9)))
      best = std::move(next);
  }
}

/// The best order as if nothing took time to send, with the sends' time. A list
/// schedule begins what is ready. A tensor that comes a moment late breaks the
/// regular order in which a folded stage never idles.
static std::optional<PipelineSchedule>
scheduleWithoutSends(const PipelineProblem &problem) {
  PipelineProblem instant = problem;
  for (PipelineProblem::Chunk &chunk : instant.chunks)
    chunk.sendForward = chunk.sendBackward = 0;
  std::optional<PipelineSchedule> best;
  tryOrders(instant, best);
  if (!best)
    return std::nullopt;
  llvm::Expected<PipelineSchedule> timed =
      scheduleActions(problem, actionsOf(problem, *best));
  if (timed)
    return std::move(*timed);
  llvm::consumeError(timed.takeError());
  return std::nullopt;
}

PipelineSchedule tpsp::schedulePipeline(const PipelineProblem &problem) {
  std::optional<PipelineSchedule> best;
  tryOrders(problem, best);
  if (problem.hasBackward && !problem.forwardFirst && hasRoomForAll(problem)) {
    PipelineProblem forwardFirst = problem;
    forwardFirst.forwardFirst = true;
    tryOrders(forwardFirst, best);
  }
  if (problem.isFolded && problem.chunksPerStage > 1) {
    std::optional<PipelineSchedule> regular = scheduleWithoutSends(problem);
    if (regular && (!best || regular->seconds < best->seconds * (1 - 1e-9)))
      best = std::move(regular);
  }
  // Orders that are not kept never end in a circle, so there is a best
  // schedule.
  return best ? std::move(*best) : PipelineSchedule();
}
