/// What the parts of a calibration have in common, and what they are.
#ifndef TPSP_LIB_CALIBRATE_MEASUREMENT_H
#define TPSP_LIB_CALIBRATE_MEASUREMENT_H

#include "tpsp/Abi/Status.h"
#include "tpsp/Calibrate/Calibrate.h"

namespace tpsp::calibration {

/// One calibration: whom to tell of its phases, and its first failure. After a
/// failure the timers measure nothing and say a second for everything. The
/// parts then go on to their ends at once, and result() is the failure.
class Measurement {
public:
  explicit Measurement(Progress progress) : progress(std::move(progress)) {}

  void phase(const std::string &what) {
    if (!hasFailed())
      progress("calibrating: " + what);
  }
  /// Notes a failure; true if there was none yet.
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

// Parts; each fills in what its name says.

/// Matmul rates of one core while all are busy, by shape and type; and what a
/// command costs besides its work.
void measureMatmuls(Measurement &measurement, Hardware &hardware);
/// Rates of attention in one call, of one core while all are busy.
void measureAttention(Measurement &measurement, Hardware &hardware);
/// How fast memory is for a core while all are busy.
void measureMemory(Measurement &measurement, Hardware &hardware);
/// What generated kernels are made of.
void measureKernels(Measurement &measurement, Hardware &hardware);
/// Every kind by size and group, and what a step costs.
void measureCollectives(Measurement &measurement, Hardware &hardware);

/// Launch, issue and step.
void measureGpuCommands(Measurement &measurement, const GpuProbe &probe,
                        Hardware &hardware);
/// Rates by shape and type on one GPU.
void measureGpuMatmuls(Measurement &measurement, const GpuProbe &probe,
                       Hardware &hardware);
/// Measures attention in one call on one GPU; nothing where cuDNN is not found.
void measureGpuAttention(Measurement &measurement, const GpuProbe &probe,
                         Hardware &hardware);
/// What generated kernels are made of, and memory.
void measureGpuKernels(Measurement &measurement, const GpuProbe &probe,
                       Hardware &hardware);
/// Every kind by size and group over NCCL, among the GPUs of this process;
/// nothing if there is one. Ranks that share a GPU would copy, which is no
/// link.
void measureGpuCollectives(Measurement &measurement, const GpuProbe &probe,
                           Hardware &hardware);

} // namespace tpsp::calibration

#endif // TPSP_LIB_CALIBRATE_MEASUREMENT_H
