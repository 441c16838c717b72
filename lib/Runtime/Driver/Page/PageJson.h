/// The data of a page, as JSON.
#ifndef TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H
#define TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H

#include "tpsp/Abi/StepTrace.h"

#include <nlohmann/json.hpp>

namespace tpsp::rt {

/// The page's template, including its style and its scripts.
const char *embeddedPage();

/// The largest number of a step's commands that a page has.
inline constexpr size_t mostPageCommands = 6000;

/// The times of a step's commands, what each command did, and the memory in
/// use. Times are in nanoseconds. Null without ranks. Ranks whose commands were
/// the same are shown as one.
nlohmann::ordered_json pageStep(const StepTrace &trace);

/// The patterns and colours of StepPicture.h.
nlohmann::ordered_json pageLooks();

} // namespace tpsp::rt

#endif // TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H
