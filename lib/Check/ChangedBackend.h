/// The CPU backend, with some collectives of a step changed.
#ifndef TPSP_LIB_CHECK_CHANGEDBACKEND_H
#define TPSP_LIB_CHECK_CHANGEDBACKEND_H

#include "tpsp/Abi/Plan.h"
#include "tpsp/Check/Change.h"
#include "tpsp/Runtime/Backend.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::check {

/// The plan of a world, and the change of its next step, which is set between
/// steps and may be null.
struct ChangeSlot {
  const Plan *plan = nullptr;
  const Change *current = nullptr;
  /// The commands that do not run, by number; empty: all run.
  std::vector<bool> skipped;
  /// The results that a command completes, and that are watched.
  std::map<int64_t, std::vector<size_t>> watched;
  /// Called by every rank for a watched result.
  std::function<rt::Status(rt::BackendRank &, int64_t rank, size_t result)> see;
  /// Called by one rank after that. The step ends if it returns false.
  std::function<bool(size_t result)> goesOn;
  /// Whether the rest of the step does not run. All ranks see the same value
  /// before a command.
  std::atomic<bool> isEnded = false;
};

/// Registers a backend that makes the changes of `slot`. Returns its name for
/// WorldConfig::backend. A changed command must be of stream 0, which the
/// ranks' own threads run, and all its ranks must be in one process.
std::string registerChangedBackend(std::shared_ptr<ChangeSlot> slot);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_CHANGEDBACKEND_H
