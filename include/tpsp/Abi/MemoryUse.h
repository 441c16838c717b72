/// What takes a rank's memory when.
#ifndef TPSP_ABI_MEMORYUSE_H
#define TPSP_ABI_MEMORYUSE_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp {

/// A buffer that lasts is in use all the time, another from the beginning of
/// its first user to the end of its last.
struct MemoryUse {
  /// Bytes in use, ascending in time; empty of a plan without buffers.
  std::vector<TraceSample> curve;
  /// The first moment at which most bytes are in use.
  int64_t peakBytes = 0;
  double peakSeconds = 0;
  /// The buffers that are in use then: largest first, those of one size in
  /// their order.
  std::vector<int64_t> liveAtPeak;
};

/// Of a rank that ran the plan as its spans say. Commands without a span use
/// nothing.
MemoryUse memoryUse(const Plan &plan, const TraceRank &rank);

/// The same of a plan that has not run: one command after another, each for a
/// second.
MemoryUse memoryUse(const Plan &plan);

} // namespace tpsp

#endif // TPSP_ABI_MEMORYUSE_H
