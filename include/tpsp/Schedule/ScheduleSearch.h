/// The fastest schedule of a plan that fits into memory.
#ifndef TPSP_SCHEDULE_SCHEDULESEARCH_H
#define TPSP_SCHEDULE_SCHEDULESEARCH_H

#include "tpsp/Schedule/CostModel.h"
#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/Simulator.h"
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
  /// The settings that found it, and those that were fastest in each amount of
  /// memory: enough for a plan of more such layers.
  std::vector<ListSetting> promising;
};

/// Tries list schedules of `plan`, which has no events and one stream, in all
/// the memory that may be added, in half of it and in none; more room is not
/// always used well. Buffers leave gaps in an arena. If schedules do not fit for
/// that reason, they are tried again in less memory, by as much as was missing.
/// If none fits in the end, commands wait for more of each other. Fails if the
/// plan has no schedule.
llvm::Expected<SearchedSchedule>
searchSchedules(const Plan &plan, const CostModel &cost,
                const ArenaLimits &limits,
                const std::vector<ListSetting> &settings = listSettings());

/// The plan with the overlap of OwnProducts.h, whatever memory it takes.
llvm::Expected<SearchedSchedule> scheduleOwnProducts(const Plan &plan,
                                                     const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SCHEDULESEARCH_H
