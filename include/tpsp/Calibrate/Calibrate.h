/// Describes the machine at hand by measuring isolated operations of the
/// runtime, and nothing larger. The result is a Hardware (Hardware.h), from
/// which steps are predicted.
#ifndef TPSP_CALIBRATE_CALIBRATE_H
#define TPSP_CALIBRATE_CALIBRATE_H

#include "tpsp/Schedule/Hardware.h"

#include <functional>

namespace tpsp::calibration {

/// Called with the next phase: "calibrating: memory".
using Progress = std::function<void(const std::string &phase)>;

/// How often a timer repeats a call on a device.
struct DeviceTiming {
  /// The calls of a round are repeated until they take this many seconds,
  double least = 5e-3;
  /// but at most this often.
  int most = 2000;
  /// The number of rounds. Their median is the result.
  int rounds = 5;
};

/// The sizes at which GPUs are measured.
struct GpuProbe {
  /// The extents that m, n and k each take, and the extent of a large product.
  std::vector<int64_t> extents = {256, 512, 1024, 2048, 4096};
  int64_t large = 8192;
  /// Seconds for which the large product runs, to measure the sustained rate.
  double sustainedSeconds = 1;
  /// The extents for f32 and f64, which few programs use for matrices.
  std::vector<int64_t> wideExtents = {256, 1024, 4096};
  /// For attention: features of a head, keys of a row, and queries of all
  /// heads.
  std::vector<int64_t> attentionFeatures = {64, 128};
  std::vector<int64_t> attentionKeys = {512, 1024, 2048, 4096, 8192};
  int64_t attentionRows = 1 << 17;
  /// The smallest and the largest number of f32 elements of kernels.
  int64_t fewElements = 1 << 8, manyElements = 1 << 27;
  /// The smallest and the largest collective, in bytes.
  int64_t smallest = 4 << 10, largest = 256 << 20;
  DeviceTiming timing;

  /// Small sizes that take a second: they show whether calibration works, not
  /// how fast anything is.
  static GpuProbe quick();
};

/// Measures this machine on the CPU backend, in less than a minute if nothing
/// else runs. The error is that of the first failed call of the runtime.
llvm::Expected<Hardware> measureMachine(Progress progress);

/// Measures the GPUs of this process on the CUDA backend, in some minutes. Each
/// operation is called repeatedly, and a round lasts until the device has
/// finished all calls. Fails if a call of the runtime fails, or if there is no
/// GPU.
llvm::Expected<Hardware> measureGpus(const GpuProbe &probe, Progress progress);

} // namespace tpsp::calibration

#endif // TPSP_CALIBRATE_CALIBRATE_H
