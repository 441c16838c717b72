/// The segments of a step: commands that a rank issues together, one or more
/// times.
#ifndef TPSP_ABI_PLANSEGMENT_H
#define TPSP_ABI_PLANSEGMENT_H

#include "tpsp/Abi/EnumNames.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tpsp {

/// The work that the commands of a segment do.
enum class SegmentWork {
  Prologue, ///< values that no micro-batch changes; repeated: counts of inputs
  MicroBatch,
  Forward,
  Backward, ///< of a chunk: all, or the part that a sent gradient needs
  Weights,  ///< of a chunk: the rest of it, for which nobody waits
  Send,
  Receive,
  Update
};

template <> struct EnumNames<SegmentWork> {
  static constexpr const char *all[] = {"prologue", "micro-batch", "forward",
                                        "backward", "weights",     "send",
                                        "receive",  "update"};
};

/// For which micro-batches a step runs a segment.
enum class SegmentRuns {
  Once, ///< for none of them
  Each,
  AllButLast,
  Last
};

template <> struct EnumNames<SegmentRuns> {
  static constexpr const char *all[] = {"once", "each", "all but last", "last"};
};

/// Commands that a rank issues together, one or more times a step.
struct PlanSegment {
  /// "forward 0", ...
  std::string name;
  SegmentRuns runs = SegmentRuns::Once;
  SegmentWork work = SegmentWork::Prologue;
  /// The chunk of layers; -1 for none.
  int64_t chunk = -1;
  /// The stages that run it, ascending; empty: all ranks run it.
  std::vector<int64_t> stages = {};
  /// For Send and Receive, the segment of the other side; else -1.
  int64_t peer = -1;

  /// Whether its commands are those of a micro-batch.
  bool isOfMicroBatch() const { return runs != SegmentRuns::Once; }
  /// Whether it may run for several micro-batches.
  bool runsAgain() const {
    return runs == SegmentRuns::Each || runs == SegmentRuns::AllButLast;
  }
  /// How often it runs in a step of so many micro-batches.
  int64_t times(int64_t microBatches) const {
    return runs == SegmentRuns::Each         ? microBatches
           : runs == SegmentRuns::AllButLast ? microBatches - 1
                                             : 1;
  }
  /// The first micro-batch for which it runs.
  int64_t firstOf(int64_t microBatches) const {
    return runs == SegmentRuns::Last ? microBatches - 1 : 0;
  }

  /// Whether it runs for the last of several micro-batches, or for others.
  bool isPartOf(bool isLast) const {
    return runs == SegmentRuns::Each ||
           runs == (isLast ? SegmentRuns::Last : SegmentRuns::AllButLast);
  }

  bool isTransfer() const {
    return work == SegmentWork::Send || work == SegmentWork::Receive;
  }
  bool runsOn(int64_t stage) const {
    if (stages.empty())
      return true;
    for (int64_t each : stages)
      if (each == stage)
        return true;
    return false;
  }
};

/// The streams of a stage's actions: one computes, and two send and receive.
inline constexpr int64_t numStageStreams = 3;

/// Memory of values that live from one segment of a micro-batch to another.
/// Every micro-batch under way has a slot of its own.
struct PlanPool {
  /// Bytes of a slot, and where the first one begins in the arena.
  int64_t bytes = 0, offset = 0;
  int64_t slots = 0;
};

/// A segment for one micro-batch.
struct StepAction {
  int64_t segment = 0, microBatch = 0;

  bool operator==(const StepAction &other) const {
    return segment == other.segment && microBatch == other.microBatch;
  }
};

} // namespace tpsp

#endif // TPSP_ABI_PLANSEGMENT_H
