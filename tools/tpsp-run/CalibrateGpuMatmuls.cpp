#include "CalibrateGpu.h"
#include "CalibrationCalls.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::run;

/// The seconds of a product without its launch: the mean of the transposes of a
/// forward and backward pass.
static llvm::Expected<double> productSeconds(CallTimer &timer,
                                             const Hardware &hardware,
                                             const DeviceTiming &timing,
                                             int64_t dtype, int64_t m,
                                             int64_t n, int64_t k) {
  double sum = 0;
  int64_t width = rt::elementBytes(dtype);
  for (Transposes transposes : passTransposes) {
    CallSpec spec = matmulCall(dtype, m, n, k, transposes);
    auto aligned = [](int64_t bytes) { return (bytes + 255) / 256 * 256; };
    int64_t b = aligned(m * k * width), c = b + aligned(k * n * width);
    spec.buffers = {0, b, c};
    auto seconds = timer.timeOnDevice(spec, timing);
    if (!seconds)
      return seconds.takeError();
    sum += std::max(*seconds * 0.2, *seconds - hardware.launchSeconds);
  }
  return sum / double(std::size(passTransposes));
}

static llvm::Expected<MatmulRates> ratesOf(CallTimer &timer,
                                           const GpuProbe &probe,
                                           const Hardware &hardware,
                                           int64_t dtype, size_t numExtents) {
  MatmulRates rates;
  rates.m.assign(probe.extents.begin(), probe.extents.begin() + numExtents);
  rates.n = rates.k = rates.m;
  auto rateOf = [&](int64_t m, int64_t n, int64_t k) -> llvm::Expected<double> {
    auto seconds =
        productSeconds(timer, hardware, probe.timing, dtype, m, n, k);
    if (!seconds)
      return seconds.takeError();
    return 2.0 * double(m) * double(n) * double(k) / *seconds;
  };
  for (double m : rates.m)
    for (double n : rates.n)
      for (double k : rates.k) {
        auto rate = rateOf(int64_t(m), int64_t(n), int64_t(k));
        if (!rate)
          return rate.takeError();
        rates.rates.push_back(*rate);
      }
  auto sustained = rateOf(probe.large, probe.large, probe.large);
  if (!sustained)
    return sustained.takeError();
  // No data sheet is at hand.
  rates.peak = *std::max_element(rates.rates.begin(), rates.rates.end());
  rates.peak = std::max(rates.peak, *sustained);
  rates.sustained = *sustained;
  return rates;
}

llvm::Error tpsp::run::measureProducts(const GpuProbe &probe,
                                       Hardware &hardware, Progress &progress) {
  int64_t arena = 3 * probe.large * probe.large * 8 + 4096;
  llvm::Expected<CallTimer> timer = CallTimer::create({1}, arena, "cuda");
  if (!timer)
    return timer.takeError();
  for (int64_t dtype : {TPSP_RT_BF16, TPSP_RT_F16, TPSP_RT_F32, TPSP_RT_F64}) {
    progress.phase(
        fmt::format("calibrating: matmuls of {}", rt::elementName(dtype)));
    bool isWide = dtype == TPSP_RT_F64;
    auto rates = ratesOf(*timer, probe, hardware, dtype,
                         isWide ? probe.wideExtents : probe.extents.size());
    if (!rates)
      return rates.takeError();
    hardware.matmul[dtype] = std::move(*rates);
  }
  return llvm::Error::success();
}
