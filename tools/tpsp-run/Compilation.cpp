#include "Compilation.h"

#include "Simulate.h"

#include "tpsp/Calibrate/Calibrate.h"
#include "tpsp/Compile/EmitPlan.h"
#include "tpsp/InitAll.h"
#include "tpsp/Runtime/DeviceInventory.h"
#include "tpsp/Schedule/Hardware.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

using namespace tpsp;
using namespace tpsp::run;

/// A file may be run anywhere.
static bool isForGpus(const Options &options) {
  return options.backend == "cuda" || !options.emit.empty();
}

/// Whether --hardware is one. What is wrong with it, is said when it is needed.
static bool describesGpu(const Options &options) {
  llvm::Expected<const Hardware &> machine = options.hardware.read();
  if (machine)
    return !machine->isCpu();
  llvm::consumeError(machine.takeError());
  return false;
}

/// In one call where the GPU at hand has a library for it, or a GPU is
/// simulated. A file may be run where there is none.
static std::string attentionForm(const Options &options) {
  if (options.simulate)
    return describesGpu(options) ? "fused" : "rows";
  rt::DeviceInventory inventory;
  bool hasLibrary = options.backend == "cuda" && options.emit.empty() &&
                    rt::listDevices("cuda", inventory).ok() &&
                    inventory.hasAttention;
  return hasLibrary ? "fused" : "rows";
}

/// The compiler's options, with what follows from tpsp-run's: all that is
/// computed from other options.
static CompileOptions resolved(const Options &options) {
  CompileOptions compile = options;
  compile.keepTrivial = options.ncclAlways;
  compile.bucketBytes = options.bucketMib * (1 << 20);
  // A file may be verified wherever it is run.
  compile.returnChoices = options.verify || !options.emit.empty();
  compile.device = isForGpus(options) ? "cuda" : "none";
  compile.forGpu = options.simulate && describesGpu(options);
  if (options.isAutomatic("attention"))
    compile.attention = attentionForm(options);
  // Where a GPU's matmul library does them: on CPUs they have not been found to
  // save time.
  if (options.isAutomatic("epilogues"))
    compile.epilogues = isForGpus(options) || describesGpu(options);
  return compile;
}

namespace {

/// A model's compilation: the context, and where its diagnostics go.
class Compilation {
public:
  Compilation(const Options &options, bool speaks)
      : options(options),
        context(dialects(), mlir::MLIRContext::Threading::DISABLED),
        elsewhere(unsaid),
        diagnostics(sources, &context,
                    speaks ? static_cast<llvm::raw_ostream &>(llvm::errs())
                           : elsewhere) {
    // One sentence and the line it is about; not the operation in full.
    context.printOpOnDiagnostic(false);
  }

  /// Sets the model and its description.
  rt::Status run(Progress &progress) {
    auto compiled = compileModel(context, options.model, resolved(options),
                                 [&](llvm::StringRef phase) {
                                   progress.phase("compiling: " + phase.str());
                                 });
    if (!compiled)
      return failure(compiled.takeError());
    model = std::move(*compiled);
    auto described = describePlan(model, options.model, options.dtype);
    if (!described)
      return failure(described.takeError());
    description = std::move(*described);
    return {};
  }

  rt::Status failure(llvm::Error error) {
    return {TPSP_RT_INVALID, unsaid + llvm::toString(std::move(error))};
  }

private:
  static mlir::DialectRegistry dialects() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  const Options &options;
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::string unsaid;
  llvm::raw_string_ostream elsewhere;
  mlir::SourceMgrDiagnosticHandler diagnostics;

public:
  /// Of the context.
  CompiledModel model;
  rt::PlanDescription description;
};

} // namespace

rt::Status tpsp::run::compile(const Options &options, bool speaks,
                              Progress &progress, Program &out) {
  Compilation compilation(options, speaks);
  if (rt::Status s = compilation.run(progress); !s.ok())
    return s;
  out.description = std::move(compilation.description);
  progress.phase("compiling: machine code");
  auto code = JitProgram::create(*compilation.model.module, out.plan().program);
  if (!code)
    return compilation.failure(code.takeError());
  out.step = code->step;
  out.code = std::make_shared<JitProgram>(std::move(*code));
  return {};
}

rt::Status tpsp::run::emit(const Options &options, bool speaks,
                           Progress &progress) {
  Compilation compilation(options, speaks);
  if (rt::Status s = compilation.run(progress); !s.ok())
    return s;
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
  Compilation compilation(options, speaks);
  // Before the compiler says the same of a place in the model.
  llvm::Expected<const Hardware &> hardware = options.hardware.read();
  if (!hardware)
    return compilation.failure(hardware.takeError());
  if (rt::Status s = compilation.run(progress); !s.ok())
    return s;
  const rt::PlanDescription &description = compilation.description;
  report.plan = description.plan;
  report.dtype = description.dtype;
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
  // What is written must be read again.
  if (auto again = parseHardware(description, "what was measured"); !again)
    return {TPSP_RT_INTERNAL, llvm::toString(again.takeError())};
  return {};
}

std::string tpsp::run::hardwareNames() {
  return llvm::join(builtinHardware(), ", ");
}
