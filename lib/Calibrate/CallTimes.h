/// Measures the time of single calls of the runtime on this machine.
#ifndef TPSP_LIB_CALIBRATE_CALLTIMES_H
#define TPSP_LIB_CALIBRATE_CALLTIMES_H

#include "Measurement.h"

#include "tpsp/Abi/Commands.h"
#include "tpsp/Abi/tpsp_rt.h"

#include <memory>

namespace tpsp::calibration {

/// A call that all ranks make at the same time.
struct CallSpec {
  tpsp_rt_status (*call)(tpsp_rt_rank *, const tpsp_rt_command *) = nullptr;
  rt::Params params;
  /// If not empty: the parameters of every second call.
  rt::Params paramsInTurn;
  /// Offsets into the arena, in bytes.
  std::vector<int64_t> buffers;
  /// How often the call is repeated. Short calls need it, and so do
  /// collectives, whose ranks run in step only after a few calls.
  int repeats = 1;
  int64_t stream = 0;
  /// A kernel on a GPU. Not owned.
  const tpsp_rt_device_kernel *device = nullptr;
};

/// The value below which a quarter of the values lie. It leaves out delays by
/// other users of the machine. 1 if there are no values, after a failure.
double lowerQuartile(std::vector<double> values);

/// The middle value, or the upper of two middle values. 1 if there are no
/// values.
double median(std::vector<double> values);

/// A command's seconds without its launch. The difference may be noise, so it
/// is at least a fifth of `seconds`.
double withoutLaunch(double seconds, double launch);

/// Times calls on ranks with one thread each and with arenas full of numbers.
class CallTimer {
public:
  /// Makes ranks on a mesh of axes of these sizes. `measurement` receives
  /// failures, and must outlive this object.
  CallTimer(Measurement &measurement, const std::vector<int64_t> &mesh,
            int64_t arenaBytes, const std::string &backend = "cpu");
  ~CallTimer();

  int64_t numRanks() const;

  /// Seconds of each call: the mean over the ranks, and the lower quartile of
  /// `rounds` rounds. One extra round runs first and does not count.
  std::vector<double> time(const std::vector<CallSpec> &specs, int rounds);

  /// Seconds of a step in which all ranks make these calls, until its streams
  /// are drained. `pick` chooses among the times of `rounds` rounds. Two extra
  /// rounds run first and do not count. Without calls, it is the cost of a
  /// step.
  double timeStep(const std::vector<CallSpec> &specs, int rounds,
                  double (*pick)(std::vector<double>) = lowerQuartile);

  /// Seconds of a call on devices, which run it later than the host issues it.
  /// The ranks repeat the call, and a round lasts until their devices have
  /// finished all calls. The time of an empty round is subtracted. Never 0.
  double timeOnDevice(const CallSpec &spec, const DeviceTiming &timing);

  /// Seconds for which the host is busy with a call. It makes few enough calls
  /// that none waits for room in the device's queue.
  double timeIssue(const CallSpec &spec, int rounds);

private:
  struct Ranks;
  const std::unique_ptr<Ranks> ranks;
};

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_CALLTIMES_H
