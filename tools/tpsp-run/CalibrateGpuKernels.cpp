#include "CalibrateGpu.h"

#include <algorithm>
#include <memory>
#include <tuple>

using namespace tpsp;
using namespace tpsp::run;

/// PTX of lib/Runtime/Cuda/CalibrationKernels.cu, made by the build.
extern const unsigned char tpspCalibrationKernels[];

namespace {

/// A kernel of that file over `grid` work items, `items` of them a block.
class ProbeKernel {
public:
  ProbeKernel(const char *entry, int64_t grid, int64_t items = 1024)
      : device{reinterpret_cast<const char *>(tpspCalibrationKernels), entry,
               /*threads=*/256, items, /*shared_bytes=*/0} {
    rt::KernelCommand command;
    command.grid = grid;
    spec.call = tpsp_rt_kernel;
    spec.params = command.encode();
    spec.device = &device;
  }
  ProbeKernel(const ProbeKernel &) = delete;

  /// Reads from the first half of the arena and writes to the second.
  llvm::Expected<double> seconds(CallTimer &timer, int64_t arenaBytes,
                                 const DeviceTiming &timing) {
    spec.buffers = {0, arenaBytes / 2};
    return timer.timeOnDevice(spec, timing);
  }

private:
  tpsp_rt_device_kernel device;
  CallSpec spec;
};

/// What one GPU is measured with: two tensors of f32.
struct KernelTimer {
  const GpuProbe &probe;
  const Hardware &hardware;
  CallTimer timer;
  int64_t arenaBytes;
  /// The timer keeps what it was given.
  std::vector<std::unique_ptr<ProbeKernel>> kernels = {};

  /// Seconds of a probe, its launch taken off.
  llvm::Expected<double> seconds(const char *entry, int64_t grid,
                                 int64_t items = 1024) {
    kernels.push_back(std::make_unique<ProbeKernel>(entry, grid, items));
    auto total = kernels.back()->seconds(timer, arenaBytes, probe.timing);
    if (!total)
      return total.takeError();
    return std::max(*total * 0.2, *total - hardware.launchSeconds);
  }

  /// How many of `each` a second an element's work amounts to.
  llvm::Error rate(const char *entry, double each, double &out) {
    auto taken = seconds(entry, probe.manyElements);
    if (!taken)
      return taken.takeError();
    out = each * double(probe.manyElements) / *taken;
    return llvm::Error::success();
  }
};

} // namespace

/// By elements that are read and written once, of ever larger tensors.
static llvm::Error measureMemory(KernelTimer &timer, SizeTable &table) {
  for (int64_t elements = timer.probe.fewElements;
       elements <= timer.probe.manyElements; elements *= 8) {
    auto seconds = timer.seconds("tpsp_probe_stream", elements);
    if (!seconds)
      return seconds.takeError();
    double bytes = 8.0 * double(elements);
    table.push_back({bytes, bytes / *seconds});
  }
  return llvm::Error::success();
}

/// A work item that does nothing, in a block of its own.
static llvm::Error measureItems(KernelTimer &timer, KernelRates &rates) {
  int64_t blocks = timer.probe.manyElements / 256;
  auto seconds = timer.seconds("tpsp_probe_nothing", blocks, /*items=*/1);
  if (!seconds)
    return seconds.takeError();
  rates.itemSeconds = *seconds / double(blocks);
  return llvm::Error::success();
}

llvm::Error tpsp::run::measureKernels(const GpuProbe &probe, Hardware &hardware,
                                      Progress &progress) {
  progress.phase("calibrating: kernels and memory");
  int64_t arenaBytes = 8 * std::max<int64_t>(probe.manyElements, 4096);
  llvm::Expected<CallTimer> made = CallTimer::create({1}, arenaBytes, "cuda");
  if (!made)
    return made.takeError();
  KernelTimer timer{probe, hardware, std::move(*made), arenaBytes};
  KernelRates &rates = hardware.kernel;
  const std::tuple<const char *, double, double *> measured[] = {
      {"tpsp_probe_operations", 2048, &rates.operations},
      {"tpsp_probe_transcendentals", 64, &rates.transcendentals},
      {"tpsp_probe_cache", 64 * 4, &rates.cacheBandwidth},
      {"tpsp_probe_scattered", 16, &rates.scattered}};
  for (auto [entry, each, rate] : measured)
    if (llvm::Error error = timer.rate(entry, each, *rate))
      return error;
  // What a launch costs is all that a kernel of nothing takes.
  rates.startSeconds = 0;
  if (llvm::Error error = measureItems(timer, rates))
    return error;
  return measureMemory(timer, hardware.memory);
}
