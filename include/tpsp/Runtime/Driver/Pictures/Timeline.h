/// Records when each rank did what in a step, for pictures and sums
/// (StepTrace.h).
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Runtime/CommandObserver.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// Records the commands of the ranks since begin(). Goes into a WorldConfig.
class Timeline final : public CommandObserver {
public:
  /// `plan` is the caller's.
  explicit Timeline(const Plan &plan) : plan(plan) {}

  /// Forgets what was recorded and makes room for one step, so that recording
  /// it allocates nothing. Before the world's first run, and never during one.
  void begin();

  void ran(int64_t rank, const tpsp_rt_command &command, Time begin,
           Time end) override;

  /// Gives the ranks of `trace`, which is of this plan, the spans that were
  /// recorded.
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
  /// Rank by rank, and of each stream by stream.
  std::vector<std::vector<Entry>> lists;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_TIMELINE_H
