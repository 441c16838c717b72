/// Why communication is exposed.
#ifndef TPSP_SCHEDULE_EXPOSURE_H
#define TPSP_SCHEDULE_EXPOSURE_H

#include "tpsp/Schedule/Simulator.h"

namespace tpsp {

/// What a collective waited for before it began.
enum class ExposureCause {
  Nothing,    ///< it began with the step
  Dependence, ///< a command that makes what it sends
  Buffer,     ///< a command that used memory which it needs
  Bandwidth   ///< another collective, on the same links
};

/// An exposed collective; one that was cut is its pieces together.
struct Exposure {
  /// Its position in the step, of the most exposed piece if it was cut.
  int64_t command = 0;
  double seconds = 0;
  double exposedSeconds = 0;
  ExposureCause cause = ExposureCause::Nothing;
  /// The command that it waited for; -1 for Nothing.
  int64_t blocker = -1;
  /// The first command on stream 0 that waits for it; -1 if none does.
  int64_t waiter = -1;

  double hiddenShare() const {
    return seconds > 0 ? 1 - exposedSeconds / seconds : 1;
  }
};

/// All collectives of a simulated step, the most exposed first. `step` has the
/// schedule that `simulated` is of.
std::vector<Exposure> exposuresOf(const Step &step,
                                  const SimulatedStep &simulated);

} // namespace tpsp

#endif // TPSP_SCHEDULE_EXPOSURE_H
