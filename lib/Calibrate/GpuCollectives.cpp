#include "CalibrationCalls.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::calibration;

/// The sizes of groups: 2, 4, 8, ... up to the number of GPUs, and that number
/// itself.
static std::vector<int64_t> groupsOf(int64_t devices) {
  std::vector<int64_t> groups;
  for (int64_t group = 2; group <= devices; group *= 2)
    groups.push_back(group);
  if (groups.back() != devices)
    groups.push_back(devices);
  return groups;
}

/// The number of a GPU's multiprocessors that a running collective occupies.
/// Compares the extra time of products that run next to collectives with the
/// time of the collectives alone.
static double coresOfCollectives(Measurement &measurement,
                                 const GpuProbe &probe,
                                 const Hardware &hardware) {
  int64_t extent = probe.extents.back(), matrix = extent * extent * 2;
  int64_t arena = 2 * probe.largest + 3 * matrix;
  CallTimer timer(measurement, {hardware.devicesPerNode}, arena, "cuda");
  CallSpec gather = collectiveCall(CollectiveKind::AllGather, probe.largest,
                                   hardware.devicesPerNode);
  gather.buffers = {0, probe.largest};
  gather.repeats = 4;
  gather.stream = 1;
  CallSpec product =
      matmulCall(TPSP_RT_BF16, extent, extent, extent, passTransposes[0]);
  product.buffers = {2 * probe.largest, 2 * probe.largest + matrix,
                     2 * probe.largest + 2 * matrix};
  int rounds = probe.timing.rounds;
  double communicating = timer.timeStep({gather}, rounds, median);
  double one = timer.timeOnDevice(product, probe.timing);
  // Enough products to run for the whole time of the collectives.
  product.repeats = int(std::clamp(2 * communicating / one, 1.0, 500.0));
  double computing = timer.timeStep({product}, rounds, median);
  double both = timer.timeStep({gather, product}, rounds, median);
  double share = (both - computing) / communicating;
  return std::clamp(share, 0.0, 0.9) * double(hardware.cores);
}

void tpsp::calibration::measureGpuCollectives(Measurement &measurement,
                                              const GpuProbe &probe,
                                              Hardware &hardware) {
  if (hardware.devicesPerNode < 2)
    return;
  addCollectives(hardware);
  for (int64_t group : groupsOf(hardware.devicesPerNode)) {
    measurement.phase(fmt::format("collectives of {} GPUs", group));
    CallTimer timer(measurement, {group}, 2 * probe.largest, "cuda");
    for (CollectiveRates &rates : hardware.collectives)
      for (int64_t bytes = probe.smallest; bytes <= probe.largest; bytes *= 4) {
        CallSpec spec = collectiveCall(rates.kind, bytes, group);
        spec.buffers = {0, probe.largest};
        addTime(rates, group, bytes, timer.timeOnDevice(spec, probe.timing));
      }
  }
  summarize(hardware, hardware.devicesPerNode);
  measurement.phase("collectives beside matmuls");
  hardware.collectiveCores = coresOfCollectives(measurement, probe, hardware);
}
