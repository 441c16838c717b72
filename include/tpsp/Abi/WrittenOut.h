/// Which micro-batches of a step with overlap are written out.
#ifndef TPSP_ABI_WRITTENOUT_H
#define TPSP_ABI_WRITTENOUT_H

#include <cstdint>

namespace tpsp {

/// With overlap, the most micro-batches that are written out and scheduled
/// together (decision 0037). If there are more, one stands for all but the
/// last.
inline constexpr int64_t mostWrittenOut = 4;

/// How many micro-batches of a step without stages are scheduled with overlap.
inline int64_t scheduledMicroBatches(int64_t microBatches) {
  return microBatches <= mostWrittenOut ? microBatches : 2;
}

} // namespace tpsp

#endif // TPSP_ABI_WRITTENOUT_H
