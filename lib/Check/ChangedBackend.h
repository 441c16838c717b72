/// The CPU backend, with some collectives of a step changed.
#ifndef TPSP_LIB_CHECK_CHANGEDBACKEND_H
#define TPSP_LIB_CHECK_CHANGEDBACKEND_H

#include "tpsp/Check/Change.h"

#include <memory>
#include <string>

namespace tpsp::check {

/// The change of the next step. It is set between steps, and may be null.
struct ChangeSlot {
  const Change *current = nullptr;
};

/// Registers a backend that makes the changes of `slot`. Returns its name for
/// WorldConfig::backend. Its worlds must have one stream and no stages.
std::string registerChangedBackend(std::shared_ptr<ChangeSlot> slot);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_CHANGEDBACKEND_H
