/// The ledger of a report as text.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H

#include "tpsp/Abi/Plan.h"

#include <string>

namespace tpsp::rt {

/// A line for each collective, then totals for each phase and kind. Unless
/// `everyLayer`, collectives of layers that are calls of one function share a
/// line, with their number, if they differ in the call alone.
std::string ledgerText(const Plan &plan, bool everyLayer);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
