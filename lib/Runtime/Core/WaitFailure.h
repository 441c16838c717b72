/// Messages of a rank that has waited for others in vain.
#ifndef TPSP_RUNTIME_CORE_WAITFAILURE_H
#define TPSP_RUNTIME_CORE_WAITFAILURE_H

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/Transport.h"

#include <vector>

namespace tpsp::rt {

/// TIMEOUT: "waited 30.0 s for rank 1 (last issued matmul "%y")". If `ranks` is
/// empty, the message names another process. If `seconds` is 0, it has the
/// world's timeout.
Status waitedFor(const BackendContext &world, const std::vector<int64_t> &ranks,
                 double seconds = 0);

/// Why an exchange with other processes for `call` failed. `self` is this rank.
Status exchangeFailed(const BackendContext &world, const Call &call,
                      int64_t self, const Exchange &exchange,
                      const ExchangeFailure &failure);

/// A hash of the properties that calls of one meeting must share, used as the
/// tag of their exchange.
int32_t exchangeTag(const Call &call);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_WAITFAILURE_H
