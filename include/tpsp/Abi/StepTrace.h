/// The trace of one step: when every rank ran which command, as plain values. A
/// run measures it (Pictures/Timeline.h), or the simulator predicts it
/// (Schedule/Simulator.h). The same writers write both kinds
/// (Pictures/ChromeTrace.h, Pictures/TimelineSvg.h), and the same functions sum
/// them up (Exposure.h, MemoryUse.h).
#ifndef TPSP_ABI_STEPTRACE_H
#define TPSP_ABI_STEPTRACE_H

#include "tpsp/Abi/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace tpsp {

/// One command of one rank, in seconds from the start of the step.
struct TraceSpan {
  int64_t command = 0;
  double begin = 0, end = 0;

  double seconds() const { return end - begin; }
};

/// A value that holds from `seconds` on, until the next sample.
struct TraceSample {
  double seconds = 0, value = 0;
};

struct TraceRank {
  /// "rank 3: dp=1 tp=1".
  std::string name;
  /// What each stream ran, in order. Stream 0 computes, the others communicate;
  /// without overlap everything is on stream 0.
  std::vector<std::vector<TraceSpan>> streams;
  /// Bytes of the arena in use; empty if not known.
  std::vector<TraceSample> memory;
  /// Bytes per second that the rank sends; empty if not known.
  std::vector<TraceSample> sending;
};

/// A command of the critical path, on one rank.
struct CriticalCommand {
  size_t rank = 0, stream = 0;
  TraceSpan span;
};

struct StepTrace {
  /// The plan that ran. Shared; never null in a trace that is written or summed
  /// up.
  std::shared_ptr<const Plan> plan;
  /// "f_grad of gpt.mlir", and "tp=4, measured on cpu" or "tp=4, simulated on
  /// h100-sxm"; may be empty.
  std::string title, setting;
  /// Empty if times are not known.
  std::vector<TraceRank> ranks;
  /// The number of ranks after these, which did the same as the last of them. A
  /// simulation stores few ranks, because all do the same.
  int64_t furtherRanks = 0;
  /// The critical path (CriticalPath.h), in the order of time;
  /// empty if it is not known.
  std::vector<CriticalCommand> critical;

  /// When the last command ended; 0 if there is none.
  double seconds() const;
};

/// The trace of a step that has not run: ranks with names and without spans.
StepTrace emptyTrace(std::shared_ptr<const Plan> plan);

/// The rate at which a rank sends, over time, in bytes per second. Each
/// collective's bytes are spread evenly over its time, waiting included: a
/// measurement shows no more.
std::vector<TraceSample> averageSending(const Plan &plan,
                                        const TraceRank &rank);

/// Fills in the memory and the sending of every rank that lacks them.
void fillCounters(StepTrace &trace);

/// Sums up the changes of a value, given in any order: one sample for each
/// moment at which it changes. At one moment, decreases come before increases.
std::vector<TraceSample> samplesOf(std::vector<TraceSample> changes);

} // namespace tpsp

#endif // TPSP_ABI_STEPTRACE_H
