/// The buffers that use a rank's memory, over time.
#ifndef TPSP_ABI_MEMORYUSE_H
#define TPSP_ABI_MEMORYUSE_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp {

/// Memory in use over time. A buffer that lasts is in use all the time. A
/// temporary is in use from the beginning of its first user to the end of its
/// last.
struct MemoryUse {
  /// Bytes in use, ascending in time; empty for a plan without buffers.
  std::vector<TraceSample> curve;
  /// The most bytes in use at once, and the first moment at which they are, in
  /// seconds.
  int64_t peakBytes = 0;
  double peakSeconds = 0;
  /// The buffers that are in use at the peak: largest first, buffers of equal
  /// size in the plan's order.
  std::vector<int64_t> liveAtPeak;
};

/// The memory use of a rank that ran the plan as its spans say. Commands
/// without a span use no buffers.
MemoryUse memoryUse(const Plan &plan, const TraceRank &rank);

/// The memory use of a plan that has not run: commands run one after another,
/// each for one second.
MemoryUse memoryUse(const Plan &plan);

} // namespace tpsp

#endif // TPSP_ABI_MEMORYUSE_H
