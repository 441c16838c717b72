/// The ledger of a report, for people.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H

#include "tpsp/Abi/Plan.h"

#include <string>

namespace tpsp::rt {

/// A line for each collective, then totals for each phase and kind. Of layers
/// that are calls of one function, collectives that are equal in all but the
/// call are one line, with their number, unless `everyLayer`.
std::string ledgerText(const Plan &plan, bool everyLayer);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
