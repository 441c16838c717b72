/// Why communication is exposed.
#ifndef TPSP_SCHEDULE_EXPOSURECAUSE_H
#define TPSP_SCHEDULE_EXPOSURECAUSE_H

#include "tpsp/Schedule/Simulator.h"

namespace tpsp {

/// What a collective waited for before it began.
enum class ExposureCause {
  Nothing,    ///< it began with the step
  Dependence, ///< a command that makes what it sends
  Buffer,     ///< a command that used memory which it needs
  Bandwidth   ///< another collective, on the same links
};

/// A collective, and why it is exposed; one that was cut is its pieces
/// together.
struct ExposedCollective {
  /// Its command, of the most exposed piece if it was cut.
  int64_t command = 0;
  CollectiveExposure times;
  ExposureCause cause = ExposureCause::Nothing;
  /// The command that it waited for; -1 for Nothing.
  int64_t blocker = -1;
  /// The first command on stream 0 that waits for it; -1 if none does.
  int64_t waiter = -1;
};

/// All collectives of a simulated step, the most exposed first. `plan` has the
/// schedule that `simulated` is of.
std::vector<ExposedCollective>
exposedCollectives(const Plan &plan, const SimulatedStep &simulated);

} // namespace tpsp

#endif // TPSP_SCHEDULE_EXPOSURECAUSE_H
