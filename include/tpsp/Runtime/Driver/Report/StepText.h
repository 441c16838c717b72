/// One-line descriptions of a step, for terminals and refusals.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_STEPTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_STEPTEXT_H

#include "tpsp/Abi/Exposure.h"

#include <string>

namespace tpsp::rt {

/// "step 12.3 ms, exposed communication 1.2 ms, hidden 87 %, peak memory 1.6
/// MiB". If nothing communicates, it says so instead.
std::string summaryLine(double stepSeconds, const Exposure &exposure,
                        int64_t peakBytes);

/// The three largest buffers in use at the peak of memory, in the order of the
/// commands. For example "scores 4.0 GiB (gpt.mlir:12:8), w1 1.0 GiB
/// (gpt.mlir:3:20), x 512.0 MiB (gpt.mlir:3:5)". Empty if there are none.
std::string largestConsumers(const Plan &plan);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_STEPTEXT_H
