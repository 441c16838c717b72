/// The ledger of a report as text.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
#define TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H

#include "tpsp/Abi/Plan.h"

#include <map>
#include <string>
#include <utility>

namespace tpsp::rt {

struct LedgerTotal {
  /// How often a step performs collectives, and the bytes that a rank sends.
  int64_t count = 0, bytes = 0;
};

/// The key is the phase and the kind.
using LedgerTotals = std::map<std::pair<Phase, std::string>, LedgerTotal>;

/// The totals of a rank. With stages, each is that of the stage which sends
/// most.
LedgerTotals ledgerTotals(const Plan &plan);

/// A line for each collective, then totals for each phase and kind. Unless
/// `everyLayer`, collectives of layers that are calls of one function share a
/// line, with their number, if they differ in the call alone.
std::string ledgerText(const Plan &plan, bool everyLayer);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_LEDGERTEXT_H
