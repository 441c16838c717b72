/// Algorithms for the OverlapProblem. Each returns a schedule that verify()
/// accepts.
#ifndef TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
#define TPSP_SCHEDULE_OVERLAPSCHEDULERS_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// List scheduling (Graham 1966) in O(n log n). An idle stream starts the ready
/// command that memory has room for and that has the longest chain of commands
/// after it. On stream 0, this rule alone would put off weight gradients to the
/// end of the step, because no command waits for them. Everything that they
/// read would be kept until then. So at most `reserve` seconds of ready work
/// are put off. Beyond that, the oldest command in the problem's order goes
/// first. With a reserve of 0, commands start in the problem's own order
/// wherever that does not idle.
OverlapSchedule scheduleList(const OverlapProblem &problem, double reserve);

/// A setting of list scheduling. Times are in units of the problem's longest
/// communication, so that a setting means the same for steps with other layers.
struct ListSetting {
  /// How much ready work may be put off.
  double reserve = 0;
  /// A command may start when at most `reserve + window` of computation is left
  /// before the first command that needs it.
  double window = 0;
  /// Whether tails account for busy links (streamTails() in CommandTails.h).
  /// Gradients are then sent as early as possible.
  bool knowsLinks = false;

  /// Whether the two differ in their windows alone, or not at all.
  bool isLike(const ListSetting &other) const {
    return reserve == other.reserve && knowsLinks == other.knowsLinks;
  }
  bool operator==(const ListSetting &other) const {
    return isLike(other) && window == other.window;
  }
};

/// The settings that are tried: reserves from none to several times the longest
/// communication, each with a few windows.
std::vector<ListSetting> listSettings();

struct ListVariant {
  ListSetting setting;
  OverlapSchedule schedule;
};

/// List schedules for `settings`, together with those that are `known` already.
/// The fastest comes first. Among equals (within half a per cent) the known
/// ones come first, then the others in the order of the settings. Identical
/// schedules are returned once, with the first setting.
std::vector<ListVariant>
scheduleVariants(const OverlapProblem &problem,
                 const std::vector<ListSetting> &settings = listSettings(),
                 std::vector<ListVariant> known = {});

/// The first schedule of scheduleVariants(problem).
OverlapSchedule scheduleList(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
