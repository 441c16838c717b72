/// Predicts a step: executes its commands as discrete events on a described
/// machine.
///
/// All ranks issue the same commands and are taken to be equally fast, so one
/// rank stands for all: a collective begins when this rank reaches it. A stream
/// runs its commands in order; a wait holds its stream until the event's last
/// record, in the order of issue, has been reached. On a GPU the host issues
/// commands one after another, each for Hardware::issueSeconds; on a CPU
/// stream 0 runs on the issuing thread, so that commands behind are issued when
/// it has done those before.
///
/// Commands that run at once share the machine, and the shares change only when
/// a command begins or ends (processor sharing):
/// - memory: if together they ask for more than its bandwidth, each takes
///   longer in that proportion where memory bounds it;
/// - GPU: a running collective holds Hardware::collectiveCores, the rest
///   compute;
/// - CPU: a rank's streams divide its share of the cores.
///
/// Deterministic. The time grows with the commands times the streams.
/// docs/Simulation.md says what is not modelled.
#ifndef TPSP_SCHEDULE_SIMULATOR_H
#define TPSP_SCHEDULE_SIMULATOR_H

#include "tpsp/Schedule/CostModel.h"

namespace tpsp {

/// Of one command, in seconds from the start of the step. Of a wait: from when
/// its stream reached it.
struct SimulatedCommand {
  double begin = 0, end = 0;
  /// Of a collective: its part of the time during which collectives run and no
  /// matmul, kernel or copy does on stream 0. Where several collectives run at
  /// once they share such time equally.
  double exposed = 0;
  /// Of a collective: the command that ran on stream 0 during most of it; -1 if
  /// none did.
  int64_t hiddenUnder = -1;

  double seconds() const { return end - begin; }
};

/// Bytes in use from `seconds` on.
struct MemoryPoint {
  double seconds = 0;
  int64_t bytes = 0;
};

struct SimulatedStep {
  /// When the last command ends.
  double seconds = 0;
  /// One for each of the step's.
  std::vector<SimulatedCommand> commands;

  /// How long at least one collective runs, and of that how long nothing
  /// computes.
  double communication = 0, exposed = 0;
  /// How long stream 0 computes.
  double computing = 0;
  /// Matmul flops over the flops that the data sheet's peak allows in the
  /// step's time; 0 if there are no rates for the element types.
  double matmulUtilisation = 0;
  /// Bytes sent over what the links' bandwidth allows in the step's time.
  double linkUtilisation = 0;

  /// What buffers hold, ascending in time. A buffer that lasts is there all the
  /// time, another from the beginning of its first user to the end of its last.
  std::vector<MemoryPoint> memory;
  int64_t peakBytes = 0;
  double peakSeconds = 0;
  /// Positions of the buffers that are there at the peak, largest first.
  std::vector<int64_t> liveAtPeak;

  /// 0 to 1; 1 if there is no communication.
  double hiddenShare() const {
    return communication > 0 ? 1 - exposed / communication : 1;
  }
};

/// Fails if a command's stream or event does not exist or an event is waited
/// for before it is recorded, in a sentence that names the command.
llvm::Expected<SimulatedStep> simulate(const Step &step, const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_SIMULATOR_H
