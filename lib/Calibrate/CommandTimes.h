/// Measures the time of each command of a program on this machine.
#ifndef TPSP_LIB_CALIBRATE_COMMANDTIMES_H
#define TPSP_LIB_CALIBRATE_COMMANDTIMES_H

#include "Measurement.h"

#include "tpsp/Abi/Plan.h"

namespace tpsp::calibration {

struct TimedCommand {
  PlanCommand command;
  /// Seconds from the command's begin to its end on a rank: the lower quartile
  /// over the steps, then the mean over the ranks. The quartile leaves out
  /// delays by other users of the machine.
  double seconds = 0;
};

/// Compiles the program `text` on its own mesh, with its backward pass if
/// `grad`. Runs it for `steps` steps on the CPU backend, with one thread per
/// rank. Returns nothing after a failure.
std::vector<TimedCommand> timeCommands(Measurement &measurement,
                                       const std::string &text, bool grad,
                                       int steps);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_COMMANDTIMES_H
