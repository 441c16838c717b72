/// The parts of a calibration, and the state that they share.
#ifndef TPSP_LIB_CALIBRATE_MEASUREMENT_H
#define TPSP_LIB_CALIBRATE_MEASUREMENT_H

#include "tpsp/Abi/Status.h"
#include "tpsp/Calibrate/Calibrate.h"

namespace tpsp::calibration {

/// One calibration: reports its phases and keeps its first failure. After a
/// failure the timers measure nothing and return one second for everything. So
/// the parts end quickly, and result() returns the failure.
class Measurement {
public:
  explicit Measurement(Progress progress) : progress(std::move(progress)) {}

  void phase(const std::string &what) {
    if (!hasFailed())
      progress("calibrating: " + what);
  }
  /// Records a failure; true if there has been none so far.
  bool isFine(const rt::Status &status) {
    if (!hasFailed() && !status.ok())
      fail(status.message());
    return !hasFailed();
  }
  void fail(std::string message) { problem = std::move(message); }
  bool hasFailed() const { return !problem.empty(); }
  llvm::Expected<Hardware> result(Hardware hardware) const {
    if (hasFailed())
      return llvm::createStringError(problem);
    return hardware;
  }

private:
  const Progress progress;
  std::string problem;
};

// The parts. Each fills in the members of Hardware that its name says.

/// Matmul rates of one core while all cores are busy, by shape and type, and a
/// command's cost besides its work.
void measureMatmuls(Measurement &measurement, Hardware &hardware);
/// Rates of attention in one call, for one core while all cores are busy.
void measureAttention(Measurement &measurement, Hardware &hardware);
/// Memory bandwidth of one core while all cores are busy.
void measureMemory(Measurement &measurement, Hardware &hardware);
/// Rates of the parts of generated kernels.
void measureKernels(Measurement &measurement, Hardware &hardware);
/// Collectives of every kind by size and group, and the cost of a step.
void measureCollectives(Measurement &measurement, Hardware &hardware);

/// The costs of a launch, of issuing a command and of a step.
void measureGpuCommands(Measurement &measurement, const GpuProbe &probe,
                        Hardware &hardware);
/// Matmul rates by shape and type on one GPU.
void measureGpuMatmuls(Measurement &measurement, const GpuProbe &probe,
                       Hardware &hardware);
/// Measures attention in one call on one GPU. Measures nothing if cuDNN is not
/// found.
void measureGpuAttention(Measurement &measurement, const GpuProbe &probe,
                         Hardware &hardware);
/// Rates of the parts of generated kernels, and memory bandwidth.
void measureGpuKernels(Measurement &measurement, const GpuProbe &probe,
                       Hardware &hardware);
/// Collectives of every kind by size and group over NCCL, among the GPUs of
/// this process. Measures nothing if there is one GPU: ranks that share a GPU
/// would copy and use no link.
void measureGpuCollectives(Measurement &measurement, const GpuProbe &probe,
                           Hardware &hardware);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_MEASUREMENT_H
