/// Records when each rank ran each command of a step, for pictures and sums
/// (StepTrace.h).
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Runtime/CommandObserver.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// Records the commands that ranks run after begin(). To be set as
/// WorldConfig::observer.
class Timeline final : public CommandObserver {
public:
  /// The caller owns `plan`.
  explicit Timeline(const Plan &plan) : plan(plan) {}

  /// Drops earlier records and reserves room for one step, so that recording
  /// allocates nothing. Call it before the world's first run, and never during
  /// a run.
  void begin();

  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override;

  /// Stores the recorded spans in the ranks of `trace`, which is of the same
  /// plan.
  void fill(StepTrace &trace) const;

private:
  struct Entry {
    int64_t command;
    Time begin, end;
  };
  Time start() const;

  /// The list of a rank's stream, which only the stream's thread writes to.
  std::vector<Entry> &listOf(int64_t rank, int64_t stream) {
    return lists[rank * plan.numStreams + stream];
  }

  const Plan &plan;
  /// One list for each rank and stream; the streams of a rank are adjacent.
  std::vector<std::vector<Entry>> lists;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H
