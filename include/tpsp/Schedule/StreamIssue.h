/// Converts a schedule to the list that a rank issues: commands on streams, and
/// the events that keep them in order.
#ifndef TPSP_SCHEDULE_STREAMISSUE_H
#define TPSP_SCHEDULE_STREAMISSUE_H

#include "tpsp/Schedule/OverlapProblem.h"

namespace tpsp {

struct IssueItem {
  enum Kind { Run, Record, Wait } kind = Run;
  /// For Run, the command's position in the problem; else the event's number.
  int64_t number = 0;
  int64_t stream = 0;
};

/// Everything that a rank issues, in order. Each stream runs its commands in
/// the order of their starts. A command on a communication stream is issued as
/// soon as all its predecessors have been issued. So it waits on its stream,
/// and not for a computation that takes long to issue. A dependence between
/// streams becomes an event, unless other events imply it.
std::vector<IssueItem> issueOf(const OverlapProblem &problem,
                               const OverlapSchedule &schedule);

} // namespace tpsp

#endif // TPSP_SCHEDULE_STREAMISSUE_H
