#include "tpsp/Schedule/StepOverlap.h"

#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tpsp;

namespace {

class ProblemBuilder {
public:
  ProblemBuilder(const Plan &plan, const CostModel &cost)
      : plan(plan), cost(cost) {}

  OverlapProblem build(int64_t bytes) {
    std::vector<std::vector<int64_t>> after = dependencesOf(plan);
    for (auto [i, command] : llvm::enumerate(plan.commands))
      problem.commands.push_back({cost.seconds(command), streamOf(command),
                                  std::move(after[i]), command.phase});
    problem.numStreams = 1 + streams.size();
    problem.capacity = bytes - addBuffers();
    return std::move(problem);
  }

private:
  int64_t streamOf(const PlanCommand &command) {
    if (!command.communicates())
      return 0;
    return streams
        .try_emplace(cost.linksOf(command.collective.axes), 1 + streams.size())
        .first->second;
  }

  /// Adds the temporaries. Returns the bytes of buffers that last.
  int64_t addBuffers() {
    std::vector<std::vector<int64_t>> users(plan.buffers.size());
    for (auto [i, command] : llvm::enumerate(plan.commands))
      for (const PlanAccess &access : command.accesses)
        if (std::vector<int64_t> &of = users[access.buffer];
            of.empty() || of.back() != int64_t(i))
          of.push_back(i);
    int64_t lasting = 0;
    for (auto [buffer, of] : llvm::zip_equal(plan.buffers, users)) {
      if (buffer.lasts())
        lasting += buffer.bytes;
      else if (!of.empty())
        problem.buffers.push_back({buffer.bytes, std::move(of),
                                   buffer.livesBefore, buffer.livesAfter});
    }
    return lasting;
  }

  const Plan &plan;
  const CostModel &cost;
  OverlapProblem problem;
  /// Streams by the links that their collectives occupy.
  std::map<std::string, int64_t> streams;
};

} // namespace

OverlapProblem tpsp::overlapProblemOf(const Plan &plan, const CostModel &cost,
                                      int64_t bytes) {
  return ProblemBuilder(plan, cost).build(bytes);
}
