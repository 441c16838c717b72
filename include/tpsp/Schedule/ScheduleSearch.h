/// The fastest schedule of a plan that fits into memory.
#ifndef TPSP_SCHEDULE_SCHEDULESEARCH_H
#define TPSP_SCHEDULE_SCHEDULESEARCH_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/InOrderOverlap.h"
#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Schedule/StepOverlap.h"
#include "tpsp/Schedule/StreamIssue.h"

namespace tpsp {

/// Bytes of a plan's arena: with one command after another, and the most that a
/// schedule may take.
struct ArenaLimits {
  int64_t serialBytes = 0, mostBytes = 0;
};

/// A plan with a schedule.
struct ScheduledPlan {
  std::vector<IssueItem> items;
  /// The plan as it is issued: its commands are those of `items`.
  Plan issued;
  ListSetting setting;
  /// At most ArenaLimits::mostBytes if an arena of that size was found, else
  /// more (arenaBytesWithin).
  int64_t arenaBytes = 0;
  SimulatedStep simulated;
};

struct SearchedSchedule {
  /// The fastest schedule that fits. If none fits, the schedule that needs
  /// least.
  ScheduledPlan best;
  bool fits = false;
  /// Settings to try for a plan of more such layers: that of `best`, and the
  /// best window for every other reserve. The best reserve may be another one
  /// there, because work that is put off once is a smaller part of a longer
  /// step.
  std::vector<ListSetting> promising;
};

/// The search for one plan.
class ScheduleSearch {
public:
  /// `plan` has no events and one stream. `plan` and `cost` outlive this
  /// object.
  ScheduleSearch(const Plan &plan, const CostModel &cost,
                 const ArenaLimits &limits)
      : plan(plan), cost(cost), limits(limits),
        problem(overlapProblemOf(plan, cost, /*bytes=*/0)),
        lastingBytes(-problem.capacity) {}

  /// Returns the seconds of the fastest list schedule for `settings`, with all
  /// the memory that may be added. Its buffers may not find room in an arena.
  /// Costs much less than run(), which reuses the schedules.
  llvm::Expected<double> estimate(const std::vector<ListSetting> &settings);

  /// Returns the best of list schedules in all the memory that may be added, in
  /// half of it and in none. More memory is not always used well. Schedules may
  /// not fit because buffers leave gaps in an arena. They are then tried again
  /// with less memory, by as many bytes as were missing. That may be less than
  /// the serial step takes at its peak. Commands then keep their order near the
  /// peak, and overlap elsewhere. If none fits in the end, commands also wait
  /// for others that left room (OverlapProblem::waitsForRoom). Fails if the
  /// plan has no schedule.
  llvm::Expected<SearchedSchedule> run();

private:
  llvm::Error tryAmounts();
  int64_t lessThan(int64_t more) const;
  bool missesFaster() const;
  llvm::Error tryWaiting(int64_t more, int mostMisses);
  llvm::Error tryAmount(int64_t more, int mostMisses);
  std::vector<ListVariant> variantsIn(int64_t more, int mostMisses);
  llvm::Error consider(ScheduledPlan next, double estimate);
  std::vector<ListSetting> promisingSettings() const;
  int64_t extraBytes() const { return limits.mostBytes - limits.serialBytes; }

  const Plan &plan;
  const CostModel &cost;
  const ArenaLimits limits;
  OverlapProblem problem;
  const int64_t lastingBytes;
  /// The schedules of estimate(), until run() uses them.
  std::vector<ListVariant> estimated;
  /// All settings. The one that is fastest with all the memory comes first.
  std::vector<ListSetting> settings;
  /// How many of the latest schedules fit. If none does, the least number of
  /// bytes by which one exceeds the limit.
  int fits = 0;
  int64_t missing = 0;
  /// The estimated seconds of the fastest of the latest schedules that did not
  /// fit, and of the best schedule that does.
  double fastestMiss = 0, bestEstimate = 0;
  SearchedSchedule found;
};

/// Schedules the plan by scheduleInOrder(), whatever memory it takes.
llvm::Expected<SearchedSchedule> scheduledInOrder(const Plan &plan,
                                                  const CostModel &cost,
                                                  InOrderOverlap overlap);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SCHEDULESEARCH_H
