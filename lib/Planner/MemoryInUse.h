/// What a simulated step's buffers hold over time.
#ifndef TPSP_LIB_PLANNER_MEMORYINUSE_H
#define TPSP_LIB_PLANNER_MEMORYINUSE_H

#include "tpsp/Planner/Simulator.h"

namespace tpsp {

/// Fills in `memory`, `peakBytes`, `peakSeconds` and `liveAtPeak` from the
/// commands' times.
void addMemory(const Step &step, SimulatedStep &result);

} // namespace tpsp

#endif // TPSP_LIB_PLANNER_MEMORYINUSE_H
