#include "CalibrateGpu.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::run;

GpuProbe GpuProbe::quick() {
  GpuProbe probe;
  probe.extents = {8, 24};
  probe.large = 32;
  probe.wideExtents = 1;
  probe.attentionFeatures = {8, 16};
  probe.attentionKeys = {16, 32};
  probe.attentionRows = 64;
  probe.manyElements = 1 << 13;
  probe.largest = 64 << 10;
  probe.timing = {/*least=*/2e-4, /*most=*/8, /*rounds=*/1};
  return probe;
}

llvm::Error tpsp::run::measureCommands(const GpuProbe &probe,
                                       Hardware &hardware) {
  llvm::Expected<CallTimer> timer = CallTimer::create({1}, 1 << 10, "cuda");
  if (!timer)
    return timer.takeError();
  // Two elements that do not lie side by side: a kernel that does next to
  // nothing, where a dense copy would be none.
  rt::ShardCommand two;
  two.outer = 2;
  two.chunk = 1;
  two.pitch = 2;
  CallSpec little;
  little.call = tpsp_rt_slice;
  little.params = two.encode();
  little.buffers = {0, 512};
  auto launch = timer->timeOnDevice(little, probe.timing);
  auto issue = timer->timeIssue(little, probe.timing.rounds);
  auto step = timer->timeStep({}, probe.timing.rounds, median);
  for (auto *each : {&launch, &issue, &step})
    if (!*each)
      return each->takeError();
  hardware.launchSeconds = *launch;
  hardware.issueSeconds = *issue;
  hardware.stepSeconds = *step;
  return llvm::Error::success();
}

llvm::Expected<Hardware> tpsp::run::measureGpus(const GpuProbe &probe,
                                                Progress &progress) {
  rt::DeviceInventory inventory;
  if (rt::Status s = rt::listDevices("cuda", inventory); !s.ok())
    return llvm::createStringError(s.message());
  Hardware hardware;
  hardware.kind = Hardware::Kind::Gpu;
  hardware.name = "these GPUs";
  hardware.source = fmt::format("tpsp-run --calibrate --backend cuda, {} x {}",
                                inventory.count, inventory.name);
  hardware.cores = inventory.cores;
  hardware.memoryBytes = inventory.memoryBytes;
  hardware.devicesPerNode = inventory.count;
  hardware.insideTier = "device-links";
  progress.phase("calibrating: commands");
  if (llvm::Error error = measureCommands(probe, hardware))
    return error;
  for (auto part :
       {measureProducts, measureAttention, measureKernels, measureLinks})
    if (llvm::Error error = part(probe, hardware, progress))
      return error;
  return hardware;
}
