#include "CommandTimes.h"

#include "tpsp/Schedule/NonNegativeFit.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::calibration;

namespace {

/// A program of one operation, on tensors that fit in the near caches. The
/// probes are pointwise operations with few and many operations per element,
/// algorithms on rows, and gradients. The gradient of layer_norm also sums over
/// columns.
struct KernelProbe {
  const char *name;
  const char *arguments; ///< after %x
  const char *operation; ///< makes %y of %x
  bool grad = false;
};
constexpr KernelProbe probes[] = {
    {"mul", "", "%y = tpsp.mul %x, %x : (!x, !x) -> !x"},
    {"add", ", %b: !g", "%y = tpsp.add %x, %b : (!x, !g) -> !x"},
    {"gelu", "", "%y = tpsp.gelu %x : !x"},
    {"silu", "", "%y = tpsp.silu %x : !x"},
    {"tanh", "", "%y = tpsp.tanh %x : !x"},
    {"softmax", "", "%y = tpsp.softmax %x {over = \"d\"} : !x"},
    {"rms_norm", ", %b: !g", "%y = tpsp.rms_norm %x, %b : (!x, !g) -> !x"},
    {"rms_norm's gradient", ", %b: !g",
     "%y = tpsp.rms_norm %x, %b : (!x, !g) -> !x", /*grad=*/true},
    {"layer_norm", ", %b: !g, %c: !g",
     "%y = tpsp.layer_norm %x, %b, %c : (!x, !g, !g) -> !x"},
    {"layer_norm's gradient", ", %b: !g, %c: !g",
     "%y = tpsp.layer_norm %x, %b, %c : (!x, !g, !g) -> !x", /*grad=*/true},
};

/// Rows and columns of a probe.
struct ProbeShape {
  int rows, columns;
};
constexpr ProbeShape shapes[] = {{256, 512}, {512, 128}};

constexpr const char *program = R"(
tpsp.mesh @mesh <ranks = {0} : data>
!x = tensor<{1}x{2}xf32, #tpsp.idx<s, d>>
!g = tensor<{2}xf32, #tpsp.idx<d>>
func.func @probe(%x: !x{3}) -> !x {{
  {4}
  return %y : !x
}}
)";

} // namespace

/// The times of a probe's commands.
static std::vector<TimedCommand> timeProbe(Measurement &measurement,
                                           const Hardware &hardware,
                                           const KernelProbe &probe,
                                           ProbeShape shape, int steps) {
  return timeCommands(measurement,
                      fmt::format(program, hardware.cores, shape.rows,
                                  shape.columns, probe.arguments,
                                  probe.operation),
                      probe.grad, steps);
}

static std::vector<double> featuresOf(const KernelWork &work) {
  return {work.operations,   work.transcendentals,
          work.elementBytes, work.stridedElements + work.scatteredElements,
          double(work.grid), 1};
}

/// The rate for a cost; the largest rate if the cost was too small to be
/// measured.
static double rateOf(double seconds) {
  constexpr double most = 1e12;
  return seconds > 1 / most ? 1 / seconds : most;
}

void tpsp::calibration::measureKernels(Measurement &measurement,
                                       Hardware &hardware) {
  std::vector<std::vector<double>> rows;
  std::vector<double> seconds;
  for (const KernelProbe &probe : probes)
    for (ProbeShape shape : shapes) {
      measurement.phase(fmt::format("kernels of {}", probe.name));
      for (const TimedCommand &each :
           timeProbe(measurement, hardware, probe, shape, /*steps=*/40)) {
        if (each.command.kind != CommandKind::Kernel || each.seconds <= 0)
          continue;
        rows.push_back(featuresOf(each.command.kernel));
        seconds.push_back(each.seconds);
      }
    }
  if (measurement.hasFailed())
    return;
  std::vector<double> costs = nonNegativeFit(rows, seconds);
  hardware.kernel = {rateOf(costs[0]), rateOf(costs[1]), rateOf(costs[2]),
                     rateOf(costs[3]), costs[5],         costs[4]};
}

/// Measures memory with the kernel that computes least per loaded element.
void tpsp::calibration::measureMemory(Measurement &measurement,
                                      Hardware &hardware) {
  constexpr int columns = 1024;
  measurement.phase("memory");
  for (int rows = 8; rows <= 8192; rows *= 4) {
    auto timed = timeProbe(measurement, hardware, probes[0], {rows, columns},
                           /*steps=*/20);
    if (measurement.hasFailed())
      return;
    const PlanCommand &command = timed.front().command;
    double bytes = double(command.bytesRead() + command.bytesWritten());
    hardware.memory.push_back({bytes, bytes / timed.front().seconds});
  }
}
