// Measures the NVIDIA GPUs at hand, through the CUDA backend.
#include "CallTimes.h"

#include "tpsp/Runtime/DeviceInventory.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::calibration;

GpuProbe GpuProbe::quick() {
  GpuProbe probe;
  probe.extents = {8, 24};
  probe.large = 32;
  probe.sustainedSeconds = 1e-3;
  probe.wideExtents = {8};
  probe.attentionFeatures = {8, 16};
  probe.attentionKeys = {16, 32};
  probe.attentionRows = 64;
  probe.manyElements = 1 << 13;
  probe.largest = 64 << 10;
  probe.timing = {/*least=*/2e-4, /*most=*/8, /*rounds=*/1};
  return probe;
}

void tpsp::calibration::measureGpuCommands(Measurement &measurement,
                                           const GpuProbe &probe,
                                           Hardware &hardware) {
  measurement.phase("commands");
  CallTimer timer(measurement, {1}, 1 << 10, "cuda");
  // Copies two elements that are not adjacent, so that a kernel runs but does
  // next to nothing. A dense copy would need no kernel.
  rt::ShardCommand two;
  two.outer = 2;
  two.chunk = 1;
  two.pitch = 2;
  CallSpec little;
  little.call = tpsp_rt_slice;
  little.params = two.encode();
  little.buffers = {0, 512};
  hardware.launchSeconds = timer.timeOnDevice(little, probe.timing);
  hardware.issueSeconds = timer.timeIssue(little, probe.timing.rounds);
  hardware.stepSeconds = timer.timeStep({}, probe.timing.rounds, median);
}

llvm::Expected<Hardware> tpsp::calibration::measureGpus(const GpuProbe &probe,
                                                        Progress progress) {
  rt::DeviceInventory inventory;
  if (rt::Status s = rt::listDevices("cuda", inventory); !s.ok())
    return llvm::createStringError(s.message());
  Hardware hardware;
  hardware.kind = Hardware::Kind::Gpu;
  hardware.name = "these GPUs";
  hardware.basis.measured =
      fmt::format("tpsp-run --calibrate --backend cuda, {} x {}",
                  inventory.count, inventory.name);
  hardware.cores = inventory.cores;
  hardware.memoryBytes = inventory.memoryBytes;
  hardware.devicesPerNode = inventory.count;
  hardware.insideTier = "device-links";
  Measurement measurement(std::move(progress));
  for (auto part : {measureGpuCommands, measureGpuMatmuls, measureGpuAttention,
                    measureGpuKernels, measureGpuCollectives})
    part(measurement, probe, hardware);
  return measurement.result(std::move(hardware));
}
