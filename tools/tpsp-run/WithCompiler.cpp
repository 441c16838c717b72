#include "WithCompiler.h"

#include "common/Compilation.h"
#include "common/Simulate.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Calibrate/Calibrate.h"
#include "tpsp/Calibrate/NcclTests.h"
#include "tpsp/Schedule/Hardware.h"

#include "llvm/ADT/STLExtras.h"

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
  if (llvm::Error error = emitPlan(
          compilation.model, std::move(compilation.description),
          options.targetCpu,
          options.has("code-effort") ? effortOf(options) : CodeEffort::Full,
          options.emit))
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

/// The description of --hardware with the times of the files.
static llvm::Expected<Hardware> withNcclTests(const Options &options) {
  llvm::Expected<const Hardware &> base = options.hardware.read();
  if (!base)
    return base.takeError();
  std::vector<calibration::NcclRun> runs;
  for (const std::string &path : options.ncclTests) {
    constexpr int64_t longest = 64 << 20;
    std::string text;
    if (rt::Status read = rt::readWhole(path, longest, text); !read.ok())
      return llvm::createStringError("--nccl-tests: '" + path +
                                     "' cannot be read: " + read.message());
    auto more = calibration::readNcclTests(text, path);
    if (!more)
      return more.takeError();
    llvm::append_range(runs, *more);
  }
  return calibration::withNcclRuns(*base, runs);
}

rt::Status tpsp::run::calibrate(const Options &options, Progress &progress,
                                std::string &description) {
  bool isRead = !options.ncclTests.empty();
  llvm::Expected<Hardware> hardware =
      isRead ? withNcclTests(options) : measure(options, progress);
  if (!hardware)
    return {isRead ? TPSP_RT_INVALID : TPSP_RT_INTERNAL,
            llvm::toString(hardware.takeError())};
  description = toJson(*hardware, isRead ? options.hardware.name() : "");
  // Checks that the description can be read again.
  if (auto again = parseHardware(description, "what was measured"); !again)
    return {TPSP_RT_INTERNAL, llvm::toString(again.takeError())};
  return {};
}
