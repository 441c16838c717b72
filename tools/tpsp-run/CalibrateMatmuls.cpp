#include "Calibrate.h"
#include "CalibrationCalls.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

using namespace tpsp;
using namespace tpsp::run;

namespace {

/// Of each of m, n and k. Between them rates are interpolated.
constexpr int64_t extents[] = {16, 64, 128, 256, 1024};
/// Places buffers one after another, and from the front again at the end: each
/// product finds its operands in no near cache, as in a step.
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
  // The clock takes some tens of nanoseconds.
  spec.repeats = m * n * k <= 64 * 64 * 64 ? 8 : 1;
  return spec;
}

/// In the order of MatmulRates::rates, each shape with all its transposes.
static std::vector<CallSpec> matmulCalls(int64_t dtype, RotatingArena &arena) {
  std::vector<CallSpec> calls;
  for (int64_t m : extents)
    for (int64_t n : extents)
      for (int64_t k : extents)
        for (Transposes each : passTransposes)
          calls.push_back(placedMatmul(dtype, m, n, k, each, arena));
  return calls;
}

static std::vector<double> &relativeOf(MatmulRates &rates, Transposes each) {
  return rates.relative[MatmulRates::layoutOf(each.a, each.b)];
}

static MatmulRates ratesOf(const std::vector<double> &seconds, double launch) {
  MatmulRates rates;
  rates.m.assign(std::begin(extents), std::end(extents));
  rates.n = rates.k = rates.m;
  auto next = seconds.begin();
  for (double m : rates.m)
    for (double n : rates.n)
      for (double k : rates.k) {
        std::vector<double> own;
        for (size_t i = 0; i < std::size(passTransposes); ++i, ++next)
          own.push_back(std::max(*next * 0.2, *next - launch));
        double mean =
            std::accumulate(own.begin(), own.end(), 0.0) / double(own.size());
        rates.rates.push_back(2 * m * n * k / mean);
        for (size_t i = 0; i < own.size(); ++i)
          relativeOf(rates, passTransposes[i]).push_back(mean / own[i]);
      }
  // No data sheet is at hand.
  rates.peak = *std::max_element(rates.rates.begin(), rates.rates.end());
  return rates;
}

/// Of products whose operands no near cache holds: as in a large layer.
static llvm::Expected<double> sustainedRate(int64_t cores, int64_t dtype,
                                            int rounds) {
  constexpr int64_t m = 512, n = 4096, k = 4096;
  RotatingArena arena(128 << 20);
  llvm::Expected<CallTimer> timer = CallTimer::create({cores}, arena.size());
  if (!timer)
    return timer.takeError();
  std::vector<CallSpec> calls;
  for (Transposes each : passTransposes)
    calls.push_back(placedMatmul(dtype, m, n, k, each, arena));
  auto seconds = timer->time(calls, rounds);
  if (!seconds)
    return seconds.takeError();
  double sum = std::accumulate(seconds->begin(), seconds->end(), 0.0);
  return 2.0 * m * n * k * double(calls.size()) / sum;
}

llvm::Error tpsp::run::calibrateMatmuls(Hardware &hardware,
                                        Progress &progress) {
  RotatingArena arena(32 << 20);
  llvm::Expected<CallTimer> timer =
      CallTimer::create({hardware.cores}, arena.size());
  if (!timer)
    return timer.takeError();
  // The least that a command can do: copy nothing.
  CallSpec nothing{
      tpsp_rt_slice, rt::ShardCommand().encode(), {}, {0, 64}, 1000};
  auto launch = timer->time({nothing}, /*rounds=*/9);
  if (!launch)
    return launch.takeError();
  hardware.launchSeconds = launch->front();
  // Of f64, which only tests use, less.
  for (auto [dtype, rounds] :
       {std::pair(TPSP_RT_F32, 7), std::pair(TPSP_RT_BF16, 5),
        std::pair(TPSP_RT_F16, 5), std::pair(TPSP_RT_F64, 1)}) {
    progress.phase(
        fmt::format("calibrating: matmuls of {}", rt::elementName(dtype)));
    auto seconds = timer->time(matmulCalls(dtype, arena), rounds);
    if (!seconds)
      return seconds.takeError();
    MatmulRates rates = ratesOf(*seconds, hardware.launchSeconds);
    // Our own loops for f64 take too long on a large one, and are as slow on
    // the largest of the grid.
    auto sustained = dtype == TPSP_RT_F64
                         ? llvm::Expected<double>(rates.peak)
                         : sustainedRate(hardware.cores, dtype, rounds);
    if (!sustained)
      return sustained.takeError();
    rates.sustained = std::min(*sustained, rates.peak);
    hardware.matmul[dtype] = std::move(rates);
  }
  return llvm::Error::success();
}
