/// What a simulated step's buffers hold over time.
#ifndef TPSP_SCHEDULE_MEMORYINUSE_H
#define TPSP_SCHEDULE_MEMORYINUSE_H

#include "tpsp/Schedule/Simulator.h"

namespace tpsp {

/// Fills in `memory`, `peakBytes`, `peakSeconds` and `liveAtPeak` from the
/// commands' times.
void addMemory(const Step &step, SimulatedStep &result);

} // namespace tpsp

#endif // TPSP_SCHEDULE_MEMORYINUSE_H
