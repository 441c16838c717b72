/// How long each command of a program takes, measured on this machine.
#ifndef TPSP_LIB_CALIBRATE_COMMANDTIMES_H
#define TPSP_LIB_CALIBRATE_COMMANDTIMES_H

#include "Measurement.h"

#include "tpsp/Abi/Plan.h"

namespace tpsp::calibration {

struct TimedCommand {
  PlanCommand command;
  /// From its begin to its end on one rank: the lower quartile over the steps,
  /// then the mean over the ranks. Others may use the machine; what they take
  /// is not the command's.
  double seconds = 0;
};

/// Compiles the program `text` on its own mesh, with its backward pass if
/// `grad`. Runs it for some steps on the CPU backend, one thread a rank.
/// Nothing after a failure.
std::vector<TimedCommand> timeCommands(Measurement &measurement,
                                       const std::string &text, bool grad,
                                       int steps);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_COMMANDTIMES_H
