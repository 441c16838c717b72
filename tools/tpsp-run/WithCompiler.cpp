#include "WithCompiler.h"

#include "common/Compilation.h"
#include "common/Simulate.h"

#include "tpsp/Calibrate/Calibrate.h"
#include "tpsp/Schedule/Hardware.h"

#include <chrono>
#include <cstdlib>

using namespace tpsp;
using namespace tpsp::run;

rt::Status tpsp::run::emit(const Options &options, bool speaks,
                           Progress &progress) {
  CompileUse use;
  use.isEmitted = true;
  Compilation compilation(options, use, speaks);
  TPSP_TRY(compilation.run(progress));
  progress.phase("compiling: machine code");
  if (llvm::Error error =
          emitPlan(compilation.model, std::move(compilation.description),
                   options.targetCpu, options.emit))
    return compilation.failure(std::move(error));
  return {};
}

rt::Status tpsp::run::simulate(const Options &options, bool speaks,
                               Progress &progress, rt::RunReport &report) {
  auto begin = std::chrono::steady_clock::now();
  CompileUse use;
  use.isSimulated = true;
  use.isExplained = !options.html.empty();
  Compilation compilation(options, use, speaks);
  // Checked first: the compiler would report the same error at a place in the
  // model.
  llvm::Expected<const Hardware &> hardware = options.hardware.read();
  if (!hardware)
    return compilation.failure(hardware.takeError());
  TPSP_TRY(compilation.run(progress));
  const rt::PlanDescription &description = compilation.description;
  report.plan = description.plan;
  report.dtype = description.dtype;
  report.explanation = std::move(compilation.explanation);
  report.compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  llvm::Error error = predict(*hardware, options.threads, description, report);
  return error ? compilation.failure(std::move(error)) : rt::Status();
}

static llvm::Expected<Hardware> measure(const Options &options,
                                        Progress &progress) {
  auto phase = [&](const std::string &name) { progress.phase(name); };
  if (options.backend != "cuda")
    return calibration::measureMachine(phase);
  using calibration::GpuProbe;
  bool isQuick = std::getenv("TPSP_CALIBRATE_QUICK");
  return measureGpus(isQuick ? GpuProbe::quick() : GpuProbe(), phase);
}

rt::Status tpsp::run::calibrate(const Options &options, Progress &progress,
                                std::string &description) {
  llvm::Expected<Hardware> hardware = measure(options, progress);
  if (!hardware)
    return {TPSP_RT_INTERNAL, llvm::toString(hardware.takeError())};
  description = toJson(*hardware);
  // Checks that the description can be read again.
  if (auto again = parseHardware(description, "what was measured"); !again)
    return {TPSP_RT_INTERNAL, llvm::toString(again.takeError())};
  return {};
}
