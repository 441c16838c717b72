/// The critical path of a step is a chain of commands. Each began when the one
/// before it had ended, and the last ends with the step.
///
/// A command waits for the one before it on its stream, or for an event. In a
/// collective, it also waits for other ranks. The path takes the one of these
/// that ends last. A collective counts from the moment at which its last rank
/// enters it, without the time in which other ranks wait.
#ifndef TPSP_ABI_CRITICALPATH_H
#define TPSP_ABI_CRITICALPATH_H

#include "tpsp/Abi/StepTrace.h"

#include <functional>

namespace tpsp::rt {

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

/// The path that the trace has, with its seconds.
CriticalPath criticalPath(const StepTrace &trace);

/// Finds the path of a trace that lacks it.
void fillCriticalPath(StepTrace &trace);

/// Commands of the path that follow one another on a stream.
struct CriticalStretch {
  size_t stream = 0;
  double begin = 0, end = 0;
};

/// The stretches on these ranks. Shorter pauses than `pause` seconds do not end
/// a stretch.
std::vector<CriticalStretch> criticalStretches(const StepTrace &trace,
                                               const std::vector<size_t> &ranks,
                                               double pause);

/// Names the kind of a command.
using KindOfCommand = std::function<std::string(const PlanCommand &)>;

/// "matmul", "kernel", "all_reduce over tp".
KindOfCommand kindsOf(const Plan &plan);

/// "critical path 11.9 ms of 12.3 ms: matmul 9.0 ms, all_reduce over tp 2.1
/// ms"; the largest first. Empty for an empty path.
std::string criticalPathText(const Plan &plan, const CriticalPath &path,
                             const KindOfCommand &kindOf);

/// The seconds of the path by kind of command, the largest first.
std::vector<std::pair<std::string, double>>
criticalKinds(const Plan &plan, const CriticalPath &path,
              const KindOfCommand &kindOf);

} // namespace tpsp::rt

#endif // TPSP_ABI_CRITICALPATH_H
