/// The critical path of a step is a chain of commands. Each began when the one
/// before it had ended, and the last ends with the step.
///
/// A command waits for the one before it on its stream, or for an event. In a
/// collective, it also waits for other ranks. The path takes the one of these
/// that ends last. A collective counts from the moment at which its last rank
/// enters it, without the time in which other ranks wait.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_CRITICALPATH_H
#define TPSP_RUNTIME_DRIVER_REPORT_CRITICALPATH_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp::rt {

/// A command of the path, on one rank.
struct CriticalCommand {
  int64_t rank = 0;
  TraceSpan span;
};

struct CriticalPath {
  /// In the order of time. Events are left out.
  std::vector<CriticalCommand> commands;
  /// Seconds of the commands, and of the whole step. The rest is time between
  /// commands.
  double seconds = 0, step = 0;
};

/// Takes time linear in the spans for each rank. Empty without ranks.
CriticalPath criticalPath(const Plan &plan,
                          const std::vector<TraceRank> &ranks);

/// "critical path 11.9 ms of 12.3 ms: matmul 9.0 ms, all_reduce over tp 2.1
/// ms"; the largest first. Empty for an empty path.
std::string criticalPathText(const Plan &plan, const CriticalPath &path);

/// The seconds of the path by kind of command, the largest first: "matmul",
/// "kernel", "all_reduce over tp".
std::vector<std::pair<std::string, double>>
criticalKinds(const Plan &plan, const CriticalPath &path);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_CRITICALPATH_H
