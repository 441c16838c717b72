/// Algorithms for the OverlapProblem. Each returns a schedule that verify()
/// accepts.
#ifndef TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
#define TPSP_SCHEDULE_OVERLAPSCHEDULERS_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

/// List scheduling (Graham 1966) in O(n log n). An idle stream starts the ready
/// command with the longest chain behind it that memory has room for. On stream
/// 0 that alone would put off all work that nobody waits for (weight gradients)
/// to the end of the step. All that it reads would be kept until then. So no
/// more than `reserve` seconds of ready work are put off; beyond, the oldest in
/// the problem's order goes first. 0 is the problem's own order wherever that
/// does not idle.
OverlapSchedule scheduleList(const OverlapProblem &problem, double reserve);

/// What list scheduling can be told. Times are in units of the problem's
/// longest communication, so that a setting means the same for a step of other
/// layers.
struct ListSetting {
  /// How much ready work may be put off.
  double reserve = 0;
  /// How much earlier than what needs it, and than `reserve`, a command may
  /// start.
  double window = 0;
  /// Whether tails know of busy links (CommandTails.h), which sends gradients
  /// as early as it can.
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

/// List schedules for some settings, and those that are `known` already. The
/// fastest first; of equals (half a per cent) the one that comes first among
/// the settings, behind the known ones. Of schedules that are the same only the
/// first is there.
std::vector<ListVariant>
scheduleVariants(const OverlapProblem &problem,
                 const std::vector<ListSetting> &settings = listSettings(),
                 std::vector<ListVariant> known = {});

/// The first of them.
OverlapSchedule scheduleList(const OverlapProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_OVERLAPSCHEDULERS_H
