// How long each command of a program takes, measured on this machine.
#ifndef TPSP_TOOLS_TPSP_RUN_COMMANDTIMES_H
#define TPSP_TOOLS_TPSP_RUN_COMMANDTIMES_H

#include "tpsp/Schedule/Step.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace tpsp::run {

struct TimedCommand {
  StepCommand command;
  /// From its begin to its end on one rank: the lower quartile over the steps,
  /// then the mean over the ranks. Others may use the machine; what they take
  /// is not the command's.
  double seconds = 0;
};

/// Compiles the program `text` on its own mesh, with its backward pass if
/// `grad`, and runs it for some steps on the CPU backend, one thread a rank.
llvm::Expected<std::vector<TimedCommand>> timeCommands(llvm::StringRef text,
                                                       bool grad, int steps);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_COMMANDTIMES_H
