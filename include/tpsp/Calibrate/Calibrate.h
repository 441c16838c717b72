/// Describing the machine at hand: measuring isolated operations of the
/// runtime, nothing larger. What comes out is a description as Hardware.h has
/// it, for predictions.
#ifndef TPSP_CALIBRATE_CALIBRATE_H
#define TPSP_CALIBRATE_CALIBRATE_H

#include "tpsp/Schedule/Hardware.h"

#include <functional>

namespace tpsp::calibration {

/// Told what is measured next: "calibrating: memory".
using Progress = std::function<void(const std::string &phase)>;

/// How often a call on a device is made.
struct DeviceTiming {
  /// The calls of a round take so many seconds at least...
  double least = 5e-3;
  /// ... unless there are so many.
  int most = 2000;
  /// The median of so many rounds counts.
  int rounds = 5;
};

/// How much is measured of GPUs.
struct GpuProbe {
  /// Extents of each of m, n and k, and the extent of a large product.
  std::vector<int64_t> extents = {256, 512, 1024, 2048, 4096};
  int64_t large = 8192;
  /// How long the large product runs for the rate that is kept up.
  double sustainedSeconds = 1;
  /// In f32 and f64, which few programs use for matrices.
  std::vector<int64_t> wideExtents = {256, 1024, 4096};
  /// For attention: features of a head, keys of a row, and queries of all
  /// heads.
  std::vector<int64_t> attentionFeatures = {64, 128};
  std::vector<int64_t> attentionKeys = {512, 1024, 2048, 4096, 8192};
  int64_t attentionRows = 1 << 17;
  /// Elements of f32 that kernels go over: the smallest and the largest.
  int64_t fewElements = 1 << 8, manyElements = 1 << 27;
  /// Bytes of collectives.
  int64_t smallest = 4 << 10, largest = 256 << 20;
  DeviceTiming timing;

  /// The same in a second, of small things: whether it works, not how fast
  /// anything is.
  static GpuProbe quick();
};

/// Measures this machine on the CPU backend, in less than a minute if nothing
/// else runs. The error is of the first call of the runtime that failed.
llvm::Expected<Hardware> measureMachine(Progress progress);

/// Measures the GPUs of this process on the CUDA backend, in some minutes.
/// Each operation is called again and again until the device is done with all.
/// Fails likewise, and where there is no GPU.
llvm::Expected<Hardware> measureGpus(const GpuProbe &probe, Progress progress);

} // namespace tpsp::calibration

#endif // TPSP_CALIBRATE_CALIBRATE_H
