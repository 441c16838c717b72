#include "CallTimes.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/Plan.h"
#include "tpsp/Runtime/DeviceInventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// Attention with its heads one after another in memory, and as many queries as
/// keys.
struct AttentionShape {
  int64_t dtype = 0, heads = 1, keys = 1, features = 1;
  bool isCausal = false, isGradient = false;

  AttentionWork work() const {
    AttentionWork work;
    work.causal = isCausal;
    work.isGradient = isGradient;
    work.heads = heads;
    work.queries = work.keys = keys;
    work.features = work.valueFeatures = features;
    return work;
  }
  int64_t elements() const { return heads * keys * features; }
  int64_t tensorBytes() const {
    return aligned(elements() * rt::elementBytes(dtype));
  }
  int64_t statisticBytes() const { return aligned(heads * keys * 8); }
  /// Bytes of all buffers: q, k, v and o, their gradients, and the statistic.
  int64_t bytes() const { return 8 * tensorBytes() + statisticBytes(); }

  static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }
};

/// The grid of features and keys to be measured, with `rows` queries of all
/// heads together.
struct AttentionGrid {
  std::vector<int64_t> features, keys;
  int64_t rows = 1;

  AttentionShape shape(int64_t dtype, int64_t features, int64_t keys) const {
    return {dtype, std::max<int64_t>(1, rows / keys), keys, features};
  }
  int64_t mostBytes(int64_t dtype) const {
    int64_t most = 0;
    for (int64_t each : keys)
      most = std::max(most, shape(dtype, features.back(), each).bytes());
    return most;
  }
};

} // namespace

static CallSpec attentionCall(const AttentionShape &shape) {
  rt::AttentionGradientCommand command;
  command.dtype = shape.dtype;
  command.heads = shape.heads;
  command.queries = command.keys = shape.keys;
  command.features = command.valueFeatures = shape.features;
  command.scale = 1 / std::sqrt(double(shape.features));
  command.causal = shape.isCausal;
  command.keepsStatistic = true;
  rt::AttentionLayout dense;
  dense.batch = shape.elements();
  dense.head = shape.keys * shape.features;
  dense.row = shape.features;
  command.q = command.k = command.v = command.o = dense;
  CallSpec spec;
  spec.call = shape.isGradient ? tpsp_rt_attention_gradient : tpsp_rt_attention;
  spec.params =
      shape.isGradient ? command.encode() : command.AttentionCommand::encode();
  int64_t size = shape.tensorBytes();
  auto tensor = [&](int64_t i) { return shape.statisticBytes() + i * size; };
  spec.buffers = {tensor(0), tensor(1), tensor(2), tensor(3), /*statistic=*/0};
  for (int64_t i = 4; shape.isGradient && i < 8; ++i)
    spec.buffers.push_back(tensor(i));
  return spec;
}

/// Measures the forward call before the backward call, which reads its results.
static AttentionRates
ratesOf(const AttentionGrid &grid, int64_t dtype, double launch,
        llvm::function_ref<double(const CallSpec &)> secondsOf) {
  AttentionRates rates;
  rates.features.assign(grid.features.begin(), grid.features.end());
  rates.keys.assign(grid.keys.begin(), grid.keys.end());
  for (int64_t features : grid.features)
    for (int64_t keys : grid.keys)
      for (bool isCausal : {false, true})
        for (bool isGradient : {false, true}) {
          AttentionShape shape = grid.shape(dtype, features, keys);
          shape.isCausal = isCausal;
          shape.isGradient = isGradient;
          double seconds = secondsOf(attentionCall(shape));
          rates.tables[AttentionRates::tableOf(isGradient, isCausal)].push_back(
              shape.work().flops() / withoutLaunch(seconds, launch));
        }
  return rates;
}

void tpsp::calibration::measureAttention(Measurement &measurement,
                                         Hardware &hardware) {
  const AttentionGrid grid = {{64, 128}, {128, 512, 1024}, /*rows=*/1024};
  CallTimer timer(measurement, {hardware.cores}, grid.mostBytes(TPSP_RT_F32));
  for (int64_t dtype : {TPSP_RT_F32, TPSP_RT_BF16}) {
    measurement.phase(fmt::format("attention in {}", rt::elementName(dtype)));
    hardware.attention[dtype] =
        ratesOf(grid, dtype, hardware.launchSeconds, [&](const CallSpec &spec) {
          return timer.time({spec}, /*rounds=*/3).front();
        });
  }
}

void tpsp::calibration::measureGpuAttention(Measurement &measurement,
                                            const GpuProbe &probe,
                                            Hardware &hardware) {
  rt::DeviceInventory inventory;
  if (!rt::listDevices("cuda", inventory).ok() || !inventory.hasAttention)
    return;
  measurement.phase("attention");
  const AttentionGrid grid = {probe.attentionFeatures, probe.attentionKeys,
                              probe.attentionRows};
  CallTimer timer(measurement, {1}, grid.mostBytes(TPSP_RT_BF16), "cuda");
  // bf16 stands for f16, which is as fast.
  hardware.attention[TPSP_RT_BF16] = ratesOf(
      grid, TPSP_RT_BF16, hardware.launchSeconds, [&](const CallSpec &spec) {
        return timer.timeOnDevice(spec, probe.timing);
      });
}
