#include "tpsp/Schedule/StepOverlap.h"

#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tpsp;

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(const Plan &plan, const CostModel &cost, int64_t buffers)
      : plan(plan), cost(cost), buffers(buffers) {}

  OverlapProblem build() {
    std::vector<std::vector<int64_t>> after = dependencesOf(plan);
    for (auto [i, command] : llvm::enumerate(plan.commands))
      problem.commands.push_back(
          {cost.seconds(command), streamOf(command), std::move(after[i]), {}});
    problem.numStreams = 1 + streams.size();
    problem.pools.resize(2 * problem.numStreams);
    findUsers();
    for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer)
      claim(buffer);
    setCapacities();
    return std::move(problem);
  }

private:
  static bool communicates(const PlanCommand &command) {
    return command.kind == CommandKind::Collective &&
           command.collective.group > 1;
  }

  int64_t streamOf(const PlanCommand &command) {
    if (!communicates(command))
      return 0;
    std::vector<AxisId> axes(command.collective.axes.begin(),
                             command.collective.axes.end());
    llvm::sort(axes);
    return streams.try_emplace(axes, 1 + streams.size()).first->second;
  }

  void findUsers() {
    writers.resize(plan.buffers.size());
    readers.resize(plan.buffers.size());
    for (auto [i, command] : llvm::enumerate(plan.commands))
      for (const PlanAccess &access : command.accesses) {
        auto &users = access.isWrite ? writers : readers;
        if (!plan.buffers[access.buffer].lasts())
          users[access.buffer].push_back(i);
      }
  }

  /// The pool of a temporary: what the collectives of a stream write, and what
  /// waits to be read by them; nullopt if it is neither.
  std::optional<int64_t> poolOf(int64_t buffer) const {
    auto streamIn = [&](const std::vector<int64_t> &commands) {
      for (int64_t command : commands)
        if (int64_t stream = problem.commands[command].stream)
          return stream;
      return int64_t(0);
    };
    if (int64_t stream = streamIn(writers[buffer]))
      return 2 * stream;
    if (int64_t stream = streamIn(readers[buffer]))
      return 2 * stream + 1;
    return std::nullopt;
  }

  void claim(int64_t buffer) {
    if (writers[buffer].empty() || readers[buffer].empty())
      return;
    int64_t first = writers[buffer].front();
    std::vector<int64_t> users = readers[buffer];
    users.erase(std::unique(users.begin(), users.end()), users.end());
    std::optional<int64_t> pool = poolOf(buffer);
    // All claims on a pool are by one stream: what another writes is its own.
    bool isItsOwn =
        pool && problem.commands[first].stream == (*pool % 2 ? 0 : *pool / 2);
    if (!isItsOwn || users.front() <= first)
      return;
    problem.commands[first].claims.push_back(
        {*pool, plan.buffers[buffer].bytes, std::move(users)});
    // Who writes the rest of it needs the room, too: parts of a tile come
    // independently of each other.
    for (int64_t writer : writers[buffer])
      if (writer != first && streamOf(writer) == streamOf(first))
        problem.commands[writer].after.push_back(first);
  }

  int64_t streamOf(int64_t command) const {
    return problem.commands[command].stream;
  }

  /// From what is held when commands run one after another.
  void setCapacities() {
    std::vector<int64_t> held(problem.pools.size(), 0), most = held;
    std::vector<std::vector<std::pair<int64_t, int64_t>>> released(
        problem.commands.size());
    for (size_t i = 0; i < problem.commands.size(); ++i) {
      for (const BufferClaim &claim : problem.commands[i].claims) {
        held[claim.pool] += claim.bytes;
        most[claim.pool] = std::max(most[claim.pool], held[claim.pool]);
        int64_t last = *llvm::max_element(claim.releasedBy);
        released[last].push_back({claim.pool, claim.bytes});
      }
      for (auto [pool, bytes] : released[i])
        held[pool] -= bytes;
    }
    for (auto [pool, bytes] : llvm::zip_equal(problem.pools, most))
      pool.capacity = buffers * bytes;
  }

  const Plan &plan;
  const CostModel &cost;
  const int64_t buffers;
  OverlapProblem problem;
  std::map<std::vector<AxisId>, int64_t> streams;
  /// Writers and readers of each temporary, in order.
  std::vector<std::vector<int64_t>> writers, readers;
};

} // namespace

OverlapProblem tpsp::overlapProblemOf(const Plan &plan, const CostModel &cost,
                                      int64_t buffers) {
  return ProblemBuilder(plan, cost, buffers).build();
}
