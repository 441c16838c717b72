/// Writes a step's trace for Perfetto's or Chrome's viewer (docs/Debugging.md),
/// in Chrome's Trace Event Format. It has a process for each rank, a thread for
/// each stream, and an event for each command. An arrow leads from each result
/// to its readers on other streams. Counters show the memory in use and the
/// bytes sent.
#ifndef TPSP_RUNTIME_DRIVER_PICTURES_CHROMETRACE_H
#define TPSP_RUNTIME_DRIVER_PICTURES_CHROMETRACE_H

#include "tpsp/Abi/StepTrace.h"

namespace tpsp::rt {

/// One JSON object, valid whatever bytes names contain.
std::string toChromeJson(const StepTrace &trace);
/// The file has no place for the summary.
std::string toChromeJson(const StepTrace &trace, const std::string &summary);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_PICTURES_CHROMETRACE_H
