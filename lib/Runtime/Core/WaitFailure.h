/// What a rank says that has waited for others in vain.
#ifndef TPSP_RUNTIME_CORE_WAITFAILURE_H
#define TPSP_RUNTIME_CORE_WAITFAILURE_H

#include "tpsp/Runtime/Backend.h"
#include "tpsp/Runtime/Transport.h"

#include <vector>

namespace tpsp::rt {

/// TIMEOUT: "waited 30.0 s for rank 1 (last issued matmul "%y")". No ranks:
/// another process. `seconds`: of the world, if it is 0.
Status waitedFor(const BackendContext &world, const std::vector<int64_t> &ranks,
                 double seconds = 0);

/// Why an exchange with other processes for `call` failed. `self`: this rank.
Status exchangeFailed(const BackendContext &world, const Call &call,
                      int64_t self, const Exchange &exchange,
                      const ExchangeFailure &failure);

/// A hash of what ranks that meet in a call must have in common, as the tag of
/// their exchange.
int32_t exchangeTag(const Call &call);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CORE_WAITFAILURE_H
