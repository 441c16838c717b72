/// The fastest schedule of a plan that fits into memory.
#ifndef TPSP_SCHEDULE_SCHEDULESEARCH_H
#define TPSP_SCHEDULE_SCHEDULESEARCH_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Schedule/StepOverlap.h"
#include "tpsp/Schedule/StreamIssue.h"

namespace tpsp {

/// Bytes of a plan's arena: one command after another, and at most.
struct ArenaLimits {
  int64_t serialBytes = 0, mostBytes = 0;
};

/// A plan with a schedule.
struct ScheduledPlan {
  std::vector<IssueItem> items;
  /// As it is issued: its commands are those of `items`.
  Plan issued;
  ListSetting setting;
  /// At most ArenaLimits::mostBytes if an arena of that was found, else more
  /// (arenaBytesWithin).
  int64_t arenaBytes = 0;
  SimulatedStep simulated;
};

struct SearchedSchedule {
  /// The fastest that fits; if none was found, the one that needs least.
  ScheduledPlan best;
  bool fits = false;
  /// The setting that found it, and for each other reserve the best window: for
  /// a plan of more such layers. Which reserve is best for those this plan does
  /// not tell, because what is put off once is a larger part of a short step.
  std::vector<ListSetting> promising;
};

/// The search for one plan.
class ScheduleSearch {
public:
  /// `plan` has no events and one stream; it and `cost` outlive this.
  ScheduleSearch(const Plan &plan, const CostModel &cost,
                 const ArenaLimits &limits)
      : plan(plan), cost(cost), limits(limits),
        problem(overlapProblemOf(plan, cost, /*bytes=*/0)),
        lastingBytes(-problem.capacity) {}

  /// The seconds of the fastest list schedule of some settings in all the
  /// memory that may be added, whether or not its buffers find room. Much
  /// cheaper than run(), which does not do it again.
  llvm::Expected<double> estimate(const std::vector<ListSetting> &settings);

  /// Tries list schedules in all the memory that may be added, in half of it
  /// and in none; more room is not always used well. Buffers leave gaps in an
  /// arena. If schedules do not fit for that reason, they are tried again in
  /// less memory, by as much as was missing. If none fits in the end, commands
  /// wait for more of each other. Fails if the plan has no schedule.
  llvm::Expected<SearchedSchedule> run();

private:
  llvm::Error tryAmounts();
  llvm::Error tryWaiting(int64_t more, int mostMisses);
  llvm::Error tryAmount(int64_t more, int mostMisses);
  std::vector<ListVariant> variantsIn(int64_t more, int mostMisses);
  llvm::Error consider(ScheduledPlan next);
  std::vector<ListSetting> promisingSettings() const;
  int64_t extraBytes() const { return limits.mostBytes - limits.serialBytes; }

  const Plan &plan;
  const CostModel &cost;
  const ArenaLimits limits;
  OverlapProblem problem;
  const int64_t lastingBytes;
  /// Of estimate(), until run() uses them.
  std::vector<ListVariant> estimated;
  /// All, the fastest with all the memory first.
  std::vector<ListSetting> settings;
  /// How many of the latest schedules fit. If none does, by how much they do
  /// not: the least of them.
  int fits = 0;
  int64_t missing = 0;
  SearchedSchedule found;
};

/// The plan with the overlap of OwnProducts.h, whatever memory it takes.
llvm::Expected<SearchedSchedule> scheduleOwnProducts(const Plan &plan,
                                                     const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SCHEDULESEARCH_H
