/// A step's trace for Perfetto's or Chrome's viewer (docs/Debugging.md), in the
/// Trace Event Format of Chrome: a process for each rank, a thread for each
/// stream, an event for each command; an arrow from each result to its readers
/// on other streams; counters for the memory in use and for what is sent.
#ifndef TPSP_RUNTIME_DRIVER_CHROMETRACE_H
#define TPSP_RUNTIME_DRIVER_CHROMETRACE_H

#include "tpsp/Runtime/Driver/StepTrace.h"

namespace tpsp::rt {

/// One JSON object, valid whatever bytes names are made of.
std::string toChromeJson(const StepTrace &trace);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_CHROMETRACE_H
