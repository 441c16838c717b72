/// What takes a rank's memory, for refusals.
#ifndef TPSP_RUNTIME_DRIVER_MEMORYUSE_H
#define TPSP_RUNTIME_DRIVER_MEMORYUSE_H

#include "tpsp/Runtime/Driver/StepTrace.h"

#include <string>
#include <vector>

namespace tpsp::rt {

/// The buffers (positions in trace.buffers) that are in use where, in the order
/// of the commands, most bytes are: largest first, those of one size in their
/// order. Of several such moments the first.
std::vector<int64_t> buffersAtPeak(const StepTrace &trace);

/// The three largest of them: "scores 4.0 GiB (gpt.mlir:12:8), w1 1.0 GiB
/// (gpt.mlir:3:20), x 512.0 MiB (gpt.mlir:3:5)". Empty if the trace has no
/// buffers.
std::string largestConsumers(const StepTrace &trace);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_MEMORYUSE_H
