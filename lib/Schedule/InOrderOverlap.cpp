#include "tpsp/Schedule/InOrderOverlap.h"

#include "tpsp/Schedule/OwnProducts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tpsp;

//===----------------------------------------------------------------------===//
// Collectives of parameters
//===----------------------------------------------------------------------===//

/// Whether the command reads parameters, or other tensors of which `isStored`
/// holds, and nothing else.
static bool readsStored(const PlanCommand &command, const Plan &plan,
                        const std::vector<bool> &isStored) {
  bool readsAny = false;
  for (const PlanAccess &access : command.accesses) {
    if (access.isWrite)
      continue;
    readsAny = true;
    if (plan.buffers[access.buffer].kind != BufferKind::Parameter &&
        !isStored[access.buffer])
      return false;
  }
  return readsAny;
}

namespace {

/// The commands of a plan that work on parameters alone.
struct ParameterCommands {
  explicit ParameterCommands(const Plan &plan);

  /// Whether a command gathers parameters for a forward or backward pass,
  /// perhaps after copies and conversions.
  std::vector<bool> gathers;
  /// Whether it copies or converts parameters, and reads nothing else.
  std::vector<bool> prepares;
};

} // namespace

ParameterCommands::ParameterCommands(const Plan &plan) {
  std::vector<bool> isStored(plan.buffers.size());
  for (const PlanCommand &command : plan.commands) {
    bool communicates = command.kind == CommandKind::Collective;
    bool copies = command.kind == CommandKind::Kernel ||
                  command.kind == CommandKind::Copy;
    bool isOfStored =
        (communicates || copies) && readsStored(command, plan, isStored);
    int64_t row = command.collective.row;
    gathers.push_back(communicates && isOfStored && row >= 0 &&
                      plan.ledger[row].phase != Phase::Update);
    prepares.push_back(copies && isOfStored);
    for (const PlanAccess &access : command.accesses)
      if (access.isWrite)
        isStored[access.buffer] = isOfStored;
  }
}

/// Whether the command reduces gradients of parameters.
static bool reducesGradients(const PlanCommand &command, const Plan &plan) {
  int64_t row = command.collective.row;
  return command.kind == CommandKind::Collective && row >= 0 &&
         !plan.ledger[row].gradients.empty();
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

namespace {

/// The order in which commands are issued: the plan's, but for gathers of
/// parameters and what prepares them. These come right before the first reader
/// of the gather before, so that they run one layer ahead.
class FetchOrder {
public:
  FetchOrder(const OverlapProblem &problem, const ParameterCommands &of)
      : problem(problem), of(of), place(problem.commands.size()),
        ahead(place.size()) {}

  std::vector<int64_t> run() {
    std::vector<int64_t> readers = firstReaders();
    for (size_t i = 0; i < place.size(); ++i)
      place[i] = int64_t(i);
    std::map<int64_t, int64_t> lastOfStream;
    for (int64_t i = 0; i < int64_t(place.size()); ++i) {
      if (!of.gathers[i])
        continue;
      auto [last, isFirst] =
          lastOfStream.try_emplace(problem.commands[i].stream, i);
      if (int64_t reader = readers[last->second]; !isFirst && reader < i)
        moveAhead(i, place[reader]);
      last->second = i;
    }
    std::vector<int64_t> order;
    for (int64_t i = 0; i < int64_t(place.size()); ++i) {
      order.insert(order.end(), ahead[i].begin(), ahead[i].end());
      if (place[i] == i)
        order.push_back(i);
    }
    return order;
  }

private:
  /// For each gather, the first command that reads it; the number of commands
  /// if none does.
  std::vector<int64_t> firstReaders() const {
    std::vector<int64_t> readers(place.size(), int64_t(place.size()));
    for (int64_t i = int64_t(place.size()); i-- > 0;)
      for (int64_t earlier : problem.commands[i].after)
        readers[earlier] = i;
    return readers;
  }

  /// Moves a command, and what prepares parameters for it, to right before the
  /// command at `to`. Leaves it if something else must come first.
  void moveAhead(int64_t i, int64_t to) {
    OwnProducts moved;
    if (!collect(i, to, moved))
      return;
    llvm::sort(moved);
    for (int64_t each : moved) {
      place[each] = to;
      ahead[to].push_back(each);
    }
  }

  bool collect(int64_t i, int64_t to, OwnProducts &moved) const {
    if (llvm::is_contained(moved, i))
      return true;
    for (int64_t earlier : problem.commands[i].after) {
      bool isThere =
          place[earlier] < to || (place[earlier] == to && earlier != to);
      if (!isThere && (!of.prepares[earlier] || !collect(earlier, to, moved)))
        return false;
    }
    moved.push_back(i);
    return true;
  }

  const OverlapProblem &problem;
  const ParameterCommands &of;
  /// The place of each command: its own position, or the one before which it
  /// is.
  std::vector<int64_t> place;
  /// For each position, the commands right before it, in order.
  std::vector<OwnProducts> ahead;
};

class InOrderScheduler {
public:
  InOrderScheduler(const Plan &plan, const OverlapProblem &problem,
                   InOrderOverlap overlap)
      : plan(plan), problem(problem), partners(findOwnProducts(plan, problem)),
        isGather(problem.commands.size()), isFree(isGather),
        isPartner(isGather),
        freeAt(std::max<int64_t>(problem.numStreams, 1), 0) {
    if (overlap == InOrderOverlap::Parameters)
      findFree();
    else
      for (size_t i = 0; i < isGather.size(); ++i)
        order.push_back(int64_t(i));
    for (const OwnProducts &products : partners)
      for (int64_t product : products)
        isPartner[product] = true;
  }

  OverlapSchedule run() {
    schedule.start.resize(problem.commands.size());
    for (int64_t i : order) {
      if (isPartner[i])
        continue;
      if (isFree[i])
        placeFree(i);
      else
        placeInTurn(i);
    }
    return std::move(schedule);
  }

private:
  void findFree() {
    ParameterCommands of(plan);
    isGather = of.gathers;
    for (auto [i, command] : llvm::enumerate(plan.commands)) {
      isFree[i] = problem.commands[i].stream != 0 &&
                  (isGather[i] || reducesGradients(command, plan));
      // They run under anything, and not only under these.
      if (isFree[i])
        partners[i].clear();
    }
    order = FetchOrder(problem, of).run();
  }

  double seconds(int64_t i) const { return problem.commands[i].seconds; }

  /// When all predecessors have ended.
  double readyAt(int64_t i) const {
    double ready = 0;
    for (int64_t earlier : problem.commands[i].after)
      ready = std::max(ready, schedule.start[earlier] + seconds(earlier));
    return ready;
  }

  void place(int64_t i, double start, double end) {
    schedule.start[i] = start;
    double &stream = freeAt[problem.commands[i].stream];
    stream = std::max(stream, end);
    schedule.seconds = std::max(schedule.seconds, end);
  }

  /// A gather begins when the command before it in turn has ended, a reduction
  /// when its gradients are there.
  void placeFree(int64_t i) {
    double start = std::max(readyAt(i), freeAt[problem.commands[i].stream]);
    if (isGather[i] && !last.empty()) {
      start = std::max(start, turn);
      for (int64_t before : last)
        schedule.added.emplace_back(before, i);
    }
    place(i, start, start + seconds(i));
  }

  /// Places a command, with its own products, after all that came before it in
  /// turn.
  void placeInTurn(int64_t i) {
    OwnProducts now = partners[i];
    now.insert(now.begin(), i);
    double start = std::max(turn, freeAt[problem.commands[i].stream]);
    for (int64_t command : now)
      start = std::max(start, readyAt(command));
    double products = 0;
    for (int64_t command : now) {
      bool isProduct = command != i;
      double from = start + (isProduct ? products : 0);
      place(command, from, from + seconds(command));
      products += isProduct ? seconds(command) : 0;
      for (int64_t before : last)
        if (problem.commands[before].stream != problem.commands[command].stream)
          schedule.added.emplace_back(before, command);
    }
    turn = start + std::max(seconds(i), products);
    last = now;
  }

  const Plan &plan;
  const OverlapProblem &problem;
  std::vector<OwnProducts> partners;
  std::vector<bool> isGather, isFree, isPartner;
  /// The order in which commands are placed.
  std::vector<int64_t> order;
  /// For each stream, when it has nothing to do.
  std::vector<double> freeAt;
  /// When the next command in turn may start, and the commands before it.
  double turn = 0;
  OwnProducts last;
  OverlapSchedule schedule;
};

} // namespace

OverlapSchedule tpsp::scheduleInOrder(const Plan &plan,
                                      const OverlapProblem &problem,
                                      InOrderOverlap overlap) {
  return InOrderScheduler(plan, problem, overlap).run();
}
