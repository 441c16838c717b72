#include "tpsp/Schedule/InOrderOverlap.h"

#include "tpsp/Schedule/OwnProducts.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>

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

/// For each command, whether it gathers parameters for a forward or backward
/// pass, perhaps after copies and conversions.
static std::vector<bool> parameterGathers(const Plan &plan) {
  std::vector<bool> isStored(plan.buffers.size()), gathers;
  for (const PlanCommand &command : plan.commands) {
    bool communicates = command.kind == CommandKind::Collective;
    bool copies =
        command.kind == CommandKind::Kernel || command.kind == CommandKind::Copy;
    bool isStoredOnly = (communicates || copies) &&
                        readsStored(command, plan, isStored);
    int64_t row = command.collective.row;
    gathers.push_back(communicates && isStoredOnly && row >= 0 &&
                      plan.ledger[row].phase != Phase::Update);
    for (const PlanAccess &access : command.accesses)
      if (access.isWrite)
        isStored[access.buffer] = isStoredOnly;
  }
  return gathers;
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

class InOrderScheduler {
public:
  InOrderScheduler(const Plan &plan, const OverlapProblem &problem,
                   InOrderOverlap overlap)
      : plan(plan), problem(problem), partners(findOwnProducts(plan, problem)),
        isGather(problem.commands.size()), isFree(isGather),
        isPartner(isGather), isRead(isGather),
        freeAt(std::max<int64_t>(problem.numStreams, 1), 0),
        gathered(freeAt.size()) {
    for (const OwnProducts &products : partners)
      for (int64_t product : products)
        isPartner[product] = true;
    if (overlap == InOrderOverlap::Parameters)
      findFree();
  }

  OverlapSchedule run() {
    schedule.start.resize(problem.commands.size());
    for (int64_t i = 0; i < int64_t(problem.commands.size()); ++i) {
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
  /// The latest gather of a stream that nothing has read yet, or the moment
  /// from which the next one may run.
  struct Gathered {
    int64_t last = -1;
    /// The command in whose place the last gather was first read, and the
    /// command before it, which the next gather waits for; -1: none.
    double readAt = 0;
    int64_t before = -1;
  };

  void findFree() {
    isGather = parameterGathers(plan);
    for (auto [i, command] : llvm::enumerate(plan.commands))
      isFree[i] = partners[i].empty() && problem.commands[i].stream != 0 &&
                  (isGather[i] || reducesGradients(command, plan));
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

  void placeFree(int64_t i) {
    int64_t stream = problem.commands[i].stream;
    double start = std::max(readyAt(i), freeAt[stream]);
    Gathered &latest = gathered[stream];
    if (isGather[i]) {
      bool isUnread = latest.last >= 0 && !isRead[latest.last];
      if (!isUnread && latest.before >= 0) {
        start = std::max(start, latest.readAt);
        schedule.added.emplace_back(latest.before, i);
      }
      latest.last = i;
    }
    place(i, start, start + seconds(i));
  }

  /// Notes which gathers the command is the first to read.
  void noteReads(int64_t i, double start) {
    for (int64_t earlier : problem.commands[i].after) {
      if (!isGather[earlier] || !isFree[earlier] || isRead[earlier])
        continue;
      isRead[earlier] = true;
      Gathered &latest = gathered[problem.commands[earlier].stream];
      if (latest.last == earlier) {
        latest.readAt = start;
        latest.before = last.empty() ? -1 : last.back();
      }
    }
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
      noteReads(command, from);
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
  const std::vector<OwnProducts> partners;
  std::vector<bool> isGather, isFree, isPartner, isRead;
  /// For each stream, when it has nothing to do.
  std::vector<double> freeAt;
  std::vector<Gathered> gathered;
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
