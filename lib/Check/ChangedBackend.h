/// The CPU backend, with some collectives of a step changed.
#ifndef TPSP_LIB_CHECK_CHANGEDBACKEND_H
#define TPSP_LIB_CHECK_CHANGEDBACKEND_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Check/Change.h"

#include <memory>
#include <string>

namespace tpsp::check {

/// The plan of a world, and the change of its next step, which is set between
/// steps and may be null.
struct ChangeSlot {
  const Plan *plan = nullptr;
  const Change *current = nullptr;
};

/// Registers a backend that makes the changes of `slot`. Returns its name for
/// WorldConfig::backend. A changed command must be of stream 0, which the
/// ranks' own threads run, and all its ranks must be in one process.
std::string registerChangedBackend(std::shared_ptr<ChangeSlot> slot);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_CHANGEDBACKEND_H
