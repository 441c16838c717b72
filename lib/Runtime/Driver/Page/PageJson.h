/// What stands in a page, as JSON.
#ifndef TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H
#define TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H

#include "tpsp/Abi/StepTrace.h"

#include <nlohmann/json.hpp>

namespace tpsp::rt {

/// The template: its style and its scripts are in it.
const char *embeddedPage();

/// Commands of a step that a page has at most.
inline constexpr size_t mostPageCommands = 6000;

/// When what ran, with what each command did, and the memory in use. Times are
/// in nanoseconds. Null without ranks. Ranks that did the same are one.
nlohmann::ordered_json pageStep(const StepTrace &trace);

} // namespace tpsp::rt

#endif // TPSP_LIB_RUNTIME_DRIVER_PAGE_PAGEJSON_H
