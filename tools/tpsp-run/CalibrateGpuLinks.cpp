#include "CalibrateGpu.h"
#include "CalibrationCalls.h"

#include "tpsp/Schedule/CostModel.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::run;

/// 2, 4, 8, ... as far as there are GPUs, and all of them.
static std::vector<int64_t> groupsOf(int64_t devices) {
  std::vector<int64_t> groups;
  for (int64_t group = 2; group <= devices; group *= 2)
    groups.push_back(group);
  if (groups.back() != devices)
    groups.push_back(devices);
  return groups;
}

/// One kind's table for a group.
static llvm::Error measureKind(CallTimer &timer, const GpuProbe &probe,
                               int64_t group, CollectiveRates &rates) {
  SizeTable &table = rates.measured[group];
  for (int64_t bytes = probe.smallest; bytes <= probe.largest; bytes *= 4) {
    CallSpec spec = collectiveCall(rates.kind, bytes, group);
    spec.buffers = {0, probe.largest};
    auto seconds = timer.timeOnDevice(spec, probe.timing);
    if (!seconds)
      return seconds.takeError();
    // The larger takes no less; what says otherwise is noise.
    double before = table.empty() ? 0 : table.back().value;
    table.push_back({double(bytes), std::max(before, *seconds)});
  }
  return llvm::Error::success();
}

/// Of a GPU's multiprocessors, how many a running collective holds: by how much
/// longer products take beside collectives, for the time that those take alone.
static llvm::Expected<double> coresOfCollectives(const GpuProbe &probe,
                                                 const Hardware &hardware) {
  int64_t extent = probe.extents.back(), matrix = extent * extent * 2;
  int64_t arena = 2 * probe.largest + 3 * matrix;
  auto timer = CallTimer::create({hardware.devicesPerNode}, arena, "cuda");
  if (!timer)
    return timer.takeError();
  CallSpec gather = collectiveCall(CollectiveKind::AllGather, probe.largest,
                                   hardware.devicesPerNode);
  gather.buffers = {0, probe.largest};
  gather.repeats = 4;
  gather.stream = 1;
  CallSpec product =
      matmulCall(TPSP_RT_BF16, extent, extent, extent, passTransposes[0]);
  product.buffers = {2 * probe.largest, 2 * probe.largest + matrix,
                     2 * probe.largest + 2 * matrix};
  auto communicating = timer->timeStep({gather}, probe.timing.rounds, median);
  auto one = timer->timeOnDevice(product, probe.timing);
  for (auto *each : {&communicating, &one})
    if (!*each)
      return each->takeError();
  // Products enough to be there all the time.
  product.repeats = int(std::clamp(2 * *communicating / *one, 1.0, 500.0));
  auto computing = timer->timeStep({product}, probe.timing.rounds, median);
  auto both = timer->timeStep({gather, product}, probe.timing.rounds, median);
  for (auto *each : {&computing, &both})
    if (!*each)
      return each->takeError();
  double share = (*both - *computing) / *communicating;
  return std::clamp(share, 0.0, 0.9) * double(hardware.cores);
}

llvm::Error tpsp::run::measureLinks(const GpuProbe &probe, Hardware &hardware,
                                    Progress &progress) {
  if (hardware.devicesPerNode < 2)
    return llvm::Error::success();
  for (CollectiveKind kind : calibratedKinds) {
    CollectiveRates &rates = hardware.collectives.emplace_back();
    rates.kind = kind;
    rates.tier = hardware.insideTier;
  }
  for (int64_t group : groupsOf(hardware.devicesPerNode)) {
    progress.phase(fmt::format("calibrating: collectives of {} GPUs", group));
    auto timer = CallTimer::create({group}, 2 * probe.largest, "cuda");
    if (!timer)
      return timer.takeError();
    for (CollectiveRates &rates : hardware.collectives)
      if (llvm::Error error = measureKind(*timer, probe, group, rates))
        return error;
  }
  for (CollectiveRates &rates : hardware.collectives) {
    const auto &[group, table] = *rates.measured.rbegin();
    rates.latency = table.front().value;
    rates.busBandwidth =
        table.back().bytes * busFactor(rates.kind, group) / table.back().value;
  }
  progress.phase("calibrating: collectives beside matmuls");
  auto cores = coresOfCollectives(probe, hardware);
  if (!cores)
    return cores.takeError();
  hardware.collectiveCores = *cores;
  return llvm::Error::success();
}
