/// The memory of a report as text.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_MEMORYTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_MEMORYTEXT_H

#include "tpsp/Abi/Plan.h"

#include <string>

namespace tpsp::rt {

/// Bytes of the arenas of all ranks.
int64_t bytesOfAllRanks(const Plan &plan);

/// A row for each part of a rank's memory, with a column for each stage.
/// `residentBytes`: what the process had at most; 0 if not known.
std::string memoryText(const Plan &plan, int64_t residentBytes);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_MEMORYTEXT_H
