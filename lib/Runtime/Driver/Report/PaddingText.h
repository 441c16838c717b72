/// The part of a report about padded indices.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_PADDINGTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_PADDINGTEXT_H

#include "tpsp/Abi/Plan.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace tpsp::rt {

/// A row for each padded index; empty if there are none.
std::string paddingText(const Plan &plan);
nlohmann::ordered_json paddingJson(const Plan &plan);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_PADDINGTEXT_H
