/// Compares the recordings of ranks with each other.
#ifndef TPSP_LIB_CHECK_RANKAGREEMENT_H
#define TPSP_LIB_CHECK_RANKAGREEMENT_H

#include "tpsp/Check/Traces.h"

namespace tpsp::check {

/// Adds a finding for each group whose ranks do not make the same calls in the
/// same order. Another kind of finding is a pair of ranks whose sends and
/// receives do not fit. Recordings are ascending by rank.
void compareRanks(const std::vector<Recording> &recordings,
                  TraceReport &report);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_RANKAGREEMENT_H
