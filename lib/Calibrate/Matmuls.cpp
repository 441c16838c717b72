#include "CalibrationCalls.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// The extents that m, n and k each take. Between them rates are interpolated.
using Extents = std::vector<int64_t>;

/// Places buffers one after another, and starts over at the end. So no product
/// finds its operands in a near cache, as in a step.
class RotatingArena {
public:
  explicit RotatingArena(int64_t bytes) : bytes(bytes) {}

  int64_t size() const { return bytes; }
  int64_t place(int64_t length) {
    length = (length + 63) / 64 * 64;
    if (next + length > bytes)
      next = 0;
    next += length;
    return next - length;
  }

private:
  const int64_t bytes;
  int64_t next = 0;
};

} // namespace

static CallSpec placedMatmul(int64_t dtype, int64_t m, int64_t n, int64_t k,
                             Transposes transposes, RotatingArena &arena) {
  CallSpec spec = matmulCall(dtype, m, n, k, transposes);
  int64_t width = rt::elementBytes(dtype);
  spec.buffers = {arena.place(m * k * width), arena.place(k * n * width),
                  arena.place(m * n * width)};
  // Small products are repeated, because reading the clock takes tens of
  // nanoseconds.
  spec.repeats = m * n * k <= 64 * 64 * 64 ? 8 : 1;
  return spec;
}

/// Visits every product of the grid, each with all transposes, in the order of
/// MatmulRates::rates.
static void
forEachProduct(const Extents &extents,
               llvm::function_ref<void(int64_t m, int64_t n, int64_t k,
                                       Transposes transposes)>
                   visit) {
  for (int64_t m : extents)
    for (int64_t n : extents)
      for (int64_t k : extents)
        for (Transposes each : passTransposes)
          visit(m, n, k, each);
}

static std::vector<double> &relativeOf(MatmulRates &rates, Transposes each) {
  return rates.relative[MatmulRates::layoutOf(each.a, each.b)];
}

/// `seconds`: in the order of forEachProduct().
static MatmulRates ratesOf(const Extents &extents,
                           const std::vector<double> &seconds, double launch) {
  MatmulRates rates;
  rates.m.assign(extents.begin(), extents.end());
  rates.n = rates.k = rates.m;
  auto next = seconds.begin();
  for (double m : rates.m)
    for (double n : rates.n)
      for (double k : rates.k) {
        std::vector<double> own;
        for (size_t i = 0; i < std::size(passTransposes); ++i, ++next)
          own.push_back(withoutLaunch(*next, launch));
        double mean =
            std::accumulate(own.begin(), own.end(), 0.0) / double(own.size());
        rates.rates.push_back(2 * m * n * k / mean);
        for (size_t i = 0; i < own.size(); ++i)
          relativeOf(rates, passTransposes[i]).push_back(mean / own[i]);
      }
  // Without a data sheet, the best measured rate is the peak.
  rates.peak = *std::max_element(rates.rates.begin(), rates.rates.end());
  return rates;
}

/// The rate of products whose operands fit in no near cache, as in a large
/// layer.
static double sustainedRate(Measurement &measurement, int64_t cores,
                            int64_t dtype, int rounds) {
  constexpr int64_t m = 512, n = 4096, k = 4096;
  RotatingArena arena(128 << 20);
  CallTimer timer(measurement, {cores}, arena.size());
  std::vector<CallSpec> calls;
  for (Transposes each : passTransposes)
    calls.push_back(placedMatmul(dtype, m, n, k, each, arena));
  std::vector<double> seconds = timer.time(calls, rounds);
  double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return 2.0 * m * n * k * double(calls.size()) / sum;
}

void tpsp::calibration::measureMatmuls(Measurement &measurement,
                                       Hardware &hardware) {
  const Extents extents = {16, 64, 128, 256, 1024};
  RotatingArena arena(32 << 20);
  CallTimer timer(measurement, {hardware.cores}, arena.size());
  // The cheapest command copies nothing.
  CallSpec nothing{
      tpsp_rt_slice, rt::ShardCommand().encode(), {}, {0, 64}, 1000};
  hardware.launchSeconds = timer.time({nothing}, /*rounds=*/9).front();
  // f64 has fewer rounds, because only tests use it.
  for (auto [dtype, rounds] :
       {std::pair(TPSP_RT_F32, 7), std::pair(TPSP_RT_BF16, 5),
        std::pair(TPSP_RT_F16, 5), std::pair(TPSP_RT_F64, 1)}) {
    measurement.phase(fmt::format("matmuls of {}", rt::elementName(dtype)));
    std::vector<CallSpec> calls;
    forEachProduct(extents, [&, dtype = dtype](int64_t m, int64_t n, int64_t k,
                                               Transposes transposes) {
      calls.push_back(placedMatmul(dtype, m, n, k, transposes, arena));
    });
    MatmulRates rates =
        ratesOf(extents, timer.time(calls, rounds), hardware.launchSeconds);
    // For f64, tpsp's own loops take too long on a large product. The largest
    // product of the grid is as slow.
    rates.sustained = rates.peak;
    if (dtype != TPSP_RT_F64)
      rates.sustained =
          std::min(rates.peak,
                   sustainedRate(measurement, hardware.cores, dtype, rounds));
    hardware.matmul[dtype] = std::move(rates);
  }
}

static CallSpec gpuMatmul(int64_t dtype, int64_t m, int64_t n, int64_t k,
                          Transposes transposes) {
  CallSpec spec = matmulCall(dtype, m, n, k, transposes);
  int64_t width = rt::elementBytes(dtype);
  auto aligned = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
  int64_t b = aligned(m * k * width), c = b + aligned(k * n * width);
  spec.buffers = {0, b, c};
  return spec;
}

/// The rate of a long run of large products, which runs each transposition for
/// a while. A GPU at its power limit lowers its clock after some tenths of a
/// second.
static double gpuSustainedRate(CallTimer &timer, const GpuProbe &probe,
                               int64_t dtype) {
  int64_t extent = probe.large;
  std::vector<CallSpec> turns;
  for (Transposes each : passTransposes)
    turns.push_back(gpuMatmul(dtype, extent, extent, extent, each));
  double one = timer.timeOnDevice(turns.front(), probe.timing);
  double share = probe.sustainedSeconds / double(turns.size());
  auto repeats = int(std::clamp(share / one, 1.0, double(probe.timing.most)));
  for (CallSpec &spec : turns)
    spec.repeats = repeats;
  double seconds = timer.timeStep(turns, /*rounds=*/2, median);
  return 2.0 * double(extent) * double(extent) * double(extent) *
         double(repeats) * double(turns.size()) / seconds;
}

/// For each alignment in bytes below 16, the rate of products whose rows have
/// only that alignment, relative to the last cell of `rates`.
static SizeTable gpuAlignedRates(CallTimer &timer, const GpuProbe &probe,
                                 const MatmulRates &rates, int64_t dtype) {
  constexpr int64_t whole = 16;
  SizeTable table;
  for (int64_t bytes = rt::elementBytes(dtype); bytes < whole; bytes *= 2) {
    int64_t extent = int64_t(rates.m.back()) + bytes / rt::elementBytes(dtype);
    double seconds = 0;
    for (Transposes each : passTransposes)
      seconds += timer.timeOnDevice(
          gpuMatmul(dtype, extent, extent, extent, each), probe.timing);
    double rate = 2.0 * double(extent) * double(extent) * double(extent) *
                  double(std::size(passTransposes)) / seconds;
    table.push_back({double(bytes), rate / rates.rates.back()});
  }
  return table;
}

static MatmulRates gpuRatesOf(CallTimer &timer, const GpuProbe &probe,
                              double launch, int64_t dtype,
                              const Extents &extents) {
  std::vector<double> seconds;
  forEachProduct(extents,
                 [&](int64_t m, int64_t n, int64_t k, Transposes transposes) {
                   CallSpec spec = gpuMatmul(dtype, m, n, k, transposes);
                   seconds.push_back(timer.timeOnDevice(spec, probe.timing));
                 });
  MatmulRates rates = ratesOf(extents, seconds, launch);
  rates.aligned = gpuAlignedRates(timer, probe, rates, dtype);
  rates.sustained = gpuSustainedRate(timer, probe, dtype);
  rates.peak = std::max(rates.peak, rates.sustained);
  return rates;
}

void tpsp::calibration::measureGpuMatmuls(Measurement &measurement,
                                          const GpuProbe &probe,
                                          Hardware &hardware) {
  int64_t arena = 3 * probe.large * probe.large * 8 + 4096;
  CallTimer timer(measurement, {1}, arena, "cuda");
  // f16 is not measured: it is as fast as bf16.
  for (int64_t dtype : {TPSP_RT_BF16, TPSP_RT_F32, TPSP_RT_F64}) {
    measurement.phase(fmt::format("matmuls of {}", rt::elementName(dtype)));
    hardware.matmul[dtype] =
        gpuRatesOf(timer, probe, hardware.launchSeconds, dtype,
                   dtype == TPSP_RT_BF16 ? probe.extents : probe.wideExtents);
  }
}
