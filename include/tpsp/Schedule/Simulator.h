/// Predicts a step by executing its commands as discrete events on a described
/// machine.
///
/// All ranks issue the same commands and are assumed to be equally fast, so one
/// rank stands for all. A collective begins when this rank reaches it. A stream
/// runs its commands in order; a wait holds its stream until the event's last
/// record, in the order of issue, has been reached. On a GPU the host issues
/// commands one after another, each for Hardware::issueSeconds. On a CPU,
/// stream 0 runs on the issuing thread, so a command is issued only after all
/// earlier commands of stream 0 have ended.
///
/// Commands that run at once share the machine, and the shares change only when
/// a command begins or ends (processor sharing):
/// - memory: if they need more than its bandwidth together, each command that
///   memory bounds takes proportionally longer;
/// - GPU: a running collective occupies Hardware::collectiveCores, and the
///   other cores compute;
/// - CPU: a rank's streams divide its share of the cores.
///
/// The simulation is deterministic. It takes time proportional to the commands
/// times the streams. docs/Simulation.md says what is not modelled.
#ifndef TPSP_SCHEDULE_SIMULATOR_H
#define TPSP_SCHEDULE_SIMULATOR_H

#include "tpsp/Abi/Exposure.h"
#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

struct SimulatedStep {
  /// When the last command ends.
  double seconds = 0;
  /// One span for each command, in the order of issue (issueOrder()). A wait
  /// begins when its stream reaches it.
  std::vector<TraceSpan> commands;
  /// The same spans by stream, without a name and counters.
  TraceRank rank;
  Exposure exposure; ///< of that rank

  /// Seconds for which stream 0 computes.
  double computing = 0;
  /// Matmul flops over the flops that the data sheet's peak allows in the
  /// step's time; 0 if there are no rates for the element types.
  double matmulUtilisation = 0;
  /// Bytes sent over the bytes that the links' bandwidth allows in the step's
  /// time.
  double linkUtilisation = 0;
};

/// Fails, and names the command, if its stream or event does not exist, or if
/// an event is waited for before it is recorded.
llvm::Expected<SimulatedStep> simulate(const Plan &plan, const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SIMULATOR_H
