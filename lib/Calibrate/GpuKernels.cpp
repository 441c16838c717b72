#include "CallTimes.h"

#include <algorithm>
#include <deque>

using namespace tpsp;
using namespace tpsp::calibration;

/// PTX of lib/Runtime/Cuda/Kernels/CalibrationKernels.cu, made by the build.
extern const unsigned char tpspCalibrationKernels[];

namespace {

/// Times that file's kernels on one GPU, on two tensors of f32.
struct KernelTimer {
  const GpuProbe &probe;
  const Hardware &hardware;
  int64_t arenaBytes;
  CallTimer timer;
  /// The timer keeps pointers to the kernels, so their addresses must not
  /// change.
  std::deque<tpsp_rt_device_kernel> kernels = {};

  /// Seconds of a kernel over `grid` work items, with `items` per block,
  /// without its launch. It reads the first half of the arena and writes the
  /// second half.
  double seconds(const char *entry, int64_t grid, int64_t items = 1024) {
    kernels.push_back({reinterpret_cast<const char *>(tpspCalibrationKernels),
                       entry, /*threads=*/256, items, /*parts=*/1,
                       /*shared_bytes=*/0});
    rt::KernelCommand command;
    command.grid = grid;
    CallSpec spec;
    spec.call = tpsp_rt_kernel;
    spec.params = command.encode();
    spec.buffers = {0, arenaBytes / 2};
    spec.device = &kernels.back();
    return withoutLaunch(timer.timeOnDevice(spec, probe.timing),
                         hardware.launchSeconds);
  }

  /// The kernel's rate per second, if it does `each` units of work per element.
  double rate(const char *entry, double each) {
    return each * double(probe.manyElements) /
           seconds(entry, probe.manyElements);
  }
};

} // namespace

void tpsp::calibration::measureGpuKernels(Measurement &measurement,
                                          const GpuProbe &probe,
                                          Hardware &hardware) {
  measurement.phase("kernels and memory");
  int64_t arenaBytes = 8 * std::max<int64_t>(probe.manyElements, 4096);
  KernelTimer timer{
      probe, hardware, arenaBytes, {measurement, {1}, arenaBytes, "cuda"}};
  KernelRates &rates = hardware.kernel;
  rates.operations = timer.rate("tpsp_probe_operations", 2048);
  rates.transcendentals = timer.rate("tpsp_probe_transcendentals", 64);
  rates.cacheBandwidth = timer.rate("tpsp_probe_cache", 64 * 4);
  rates.scattered = timer.rate("tpsp_probe_scattered", 16);
  // An empty kernel takes no more than a launch.
  rates.startSeconds = 0;
  // Work items that do nothing, each in a block of its own.
  int64_t blocks = probe.manyElements / 256;
  rates.itemSeconds =
      timer.seconds("tpsp_probe_nothing", blocks, /*items=*/1) / double(blocks);
  // Reads and writes each element once, on ever larger tensors.
  for (int64_t elements = probe.fewElements; elements <= probe.manyElements;
       elements *= 8) {
    double bytes = 8.0 * double(elements);
    hardware.memory.push_back(
        {bytes, bytes / timer.seconds("tpsp_probe_stream", elements)});
  }
}
