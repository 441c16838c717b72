/// How long single calls of the runtime take, measured on this machine.
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
  /// If not empty: what every second one has for `params`.
  rt::Params paramsInTurn;
  /// Offsets into the arena, in bytes.
  std::vector<int64_t> buffers;
  /// So many of it, one after another: for short ones, and for collectives,
  /// which are in step only after some.
  int repeats = 1;
  int64_t stream = 0;
  /// A kernel on a GPU. Not owned.
  const tpsp_rt_device_kernel *device = nullptr;
};

/// The value below which a quarter of them are: others may use the machine, and
/// what they take is not ours. 1 if there is none, after a failure.
double lowerQuartile(std::vector<double> values);

/// The one in the middle, or the upper one of two. 1 if there is none.
double median(std::vector<double> values);

/// A command's seconds without its launch, which may be noise: a fifth of them
/// at least.
double withoutLaunch(double seconds, double launch);

/// Ranks with one thread each and with arenas full of numbers.
class CallTimer {
public:
  /// On a mesh of axes of these sizes. `measurement` outlives this, and is told
  /// of failures.
  CallTimer(Measurement &measurement, const std::vector<int64_t> &mesh,
            int64_t arenaBytes, const std::string &backend = "cpu");
  ~CallTimer();

  int64_t numRanks() const;

  /// Seconds of each call: of one round the mean over the ranks, of `rounds`
  /// rounds the lower quartile. One more round comes first and does not count.
  std::vector<double> time(const std::vector<CallSpec> &specs, int rounds);

  /// Seconds from the beginning of a step in which all ranks make these calls
  /// to its end, with its streams drained: a number of `rounds`, which `pick`
  /// makes. Two rounds come first. With no calls, what a step costs.
  double timeStep(const std::vector<CallSpec> &specs, int rounds,
                  double (*pick)(std::vector<double>) = lowerQuartile);

  /// Seconds of a call on devices, which run it behind the host. The ranks make
  /// it again and again, and the round lasts until their devices are done with
  /// all. What an empty round takes is taken off. Never 0.
  double timeOnDevice(const CallSpec &spec, const DeviceTiming &timing);

  /// Seconds for which the host is busy with a call. Few enough calls that none
  /// has to wait for room in the device's queue.
  double timeIssue(const CallSpec &spec, int rounds);

private:
  struct Ranks;
  const std::unique_ptr<Ranks> ranks;
};

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_CALLTIMES_H
