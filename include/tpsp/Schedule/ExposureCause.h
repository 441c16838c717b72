/// Finds out why communication is exposed.
#ifndef TPSP_SCHEDULE_EXPOSURECAUSE_H
#define TPSP_SCHEDULE_EXPOSURECAUSE_H

#include "tpsp/Schedule/Simulator.h"

namespace tpsp {

/// The reason for which a collective waited before it began.
enum class ExposureCause {
  Nothing,    ///< it began with the step
  Dependence, ///< a command that computes what it sends
  Buffer,     ///< a command that used memory that it needs
  Bandwidth   ///< another collective, on the same links
};

/// A collective, and why it is exposed. The pieces of a cut collective are
/// taken together.
struct ExposedCollective {
  /// Its command; if it was cut, the command of the most exposed piece.
  int64_t command = 0;
  CollectiveExposure times;
  ExposureCause cause = ExposureCause::Nothing;
  /// The command that it waited for; -1 for Nothing.
  int64_t blocker = -1;
  /// The first command on stream 0 that waits for it; -1 if none does.
  int64_t waiter = -1;
};

/// All collectives of a simulated step, the most exposed first. `simulated` is
/// the simulation of `plan`.
std::vector<ExposedCollective>
exposedCollectives(const Plan &plan, const SimulatedStep &simulated);

} // namespace tpsp

#endif // TPSP_SCHEDULE_EXPOSURECAUSE_H
