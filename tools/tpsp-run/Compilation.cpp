#include "Compilation.h"

#include "Calibrate.h"
#include "CalibrateGpu.h"
#include "Simulate.h"

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

  rt::Status run(Progress &progress) {
    auto compiled = compileModel(context, options.model, settings(),
                                 [&](llvm::StringRef phase) {
                                   progress.phase("compiling: " + phase.str());
                                 });
    if (!compiled)
      return failure(compiled.takeError());
    model = std::move(*compiled);
    return {};
  }

  rt::Status describe(rt::PlanDescription &out) {
    auto description = describePlan(model, options.model, options.dtype);
    if (!description)
      return failure(description.takeError());
    out = std::move(*description);
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

  /// A file may be run anywhere.
  bool isForGpus() const {
    return options.backend == "cuda" || !options.emit.empty();
  }

  /// By default where a GPU's matmul library does them: on CPUs they have not
  /// been found to save time.
  bool wantsEpilogues() const {
    if (options.epilogues != "auto" || isForGpus())
      return options.epilogues != "off";
    return describesGpu();
  }

  /// Whether --hardware is one.
  bool describesGpu() const {
    llvm::Expected<Hardware> machine = findHardware(options.hardware);
    if (machine)
      return !machine->isCpu();
    llvm::consumeError(machine.takeError()); // reported when it is needed
    return false;
  }

  /// By default in one call where the GPU at hand has a library for it, or the
  /// one that is simulated is a GPU; a file may be run where there is none.
  std::string attentionForm() const {
    if (options.attention != "auto")
      return options.attention;
    if (options.simulate)
      return describesGpu() ? "fused" : "rows";
    rt::DeviceInventory inventory;
    bool hasLibrary = options.backend == "cuda" && options.emit.empty() &&
                      rt::listDevices("cuda", inventory).ok() &&
                      inventory.hasAttention;
    return hasLibrary ? "fused" : "rows";
  }

  CompileOptions settings() const {
    CompileOptions compile;
    compile.function = options.function;
    compile.keepTrivial = options.ncclAlways;
    compile.grad = options.grad;
    compile.inputGradients = options.inputGradients == "on";
    // A file may be verified wherever it is run.
    compile.returnChoices = options.verify || !options.emit.empty();
    compile.keepMasks = options.keepMasks;
    compile.dtype = options.dtype;
    compile.mesh = options.mesh;
    compile.shardReplicated = options.shardReplicated;
    compile.attention = attentionForm();
    compile.attentionBlock = options.attentionBlock;
    compile.rematerialize = options.rematerialize;
    compile.keepGathered = options.keepGathered;
    compile.microBatches = options.microBatches;
    compile.microBatchIndex = options.microBatchIndex;
    compile.epilogues = wantsEpilogues();
    compile.overlap = options.overlap == "on";
    compile.hardware = options.hardware;
    compile.threads = options.threads;
    compile.overlapBuffers = options.overlapBuffers;
    compile.overlapChunks = options.overlapChunks;
    compile.requireOverlap = options.requireOverlap;
    compile.bucketBytes = options.bucketMib * (1 << 20);
    compile.device = isForGpus() ? "cuda" : "none";
    compile.forGpu = options.simulate && describesGpu();
    return compile;
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
};

} // namespace

rt::Status tpsp::run::compile(const Options &options, bool speaks,
                              Progress &progress, Program &out) {
  Compilation compilation(options, speaks);
  if (rt::Status s = compilation.run(progress); !s.ok())
    return s;
  if (rt::Status s = compilation.describe(out.description); !s.ok())
    return s;
  progress.phase("compiling: machine code");
  auto code =
      JitProgram::create(*compilation.model.plan, out.manifest().program);
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
  rt::PlanDescription description;
  if (rt::Status s = compilation.describe(description); !s.ok())
    return s;
  progress.phase("compiling: machine code");
  if (llvm::Error error = emitPlan(compilation.model, std::move(description),
                                   options.targetCpu, options.emit))
    return compilation.failure(std::move(error));
  return {};
}

rt::Status tpsp::run::simulate(const Options &options, bool speaks,
                               Progress &progress, rt::RunReport &report) {
  auto begin = std::chrono::steady_clock::now();
  Compilation compilation(options, speaks);
  // Before the compiler says the same of a place in the model.
  if (llvm::Expected<Hardware> hardware = findHardware(options.hardware);
      !hardware)
    return compilation.failure(hardware.takeError());
  if (rt::Status s = compilation.run(progress); !s.ok())
    return s;
  rt::PlanDescription description;
  if (rt::Status s = compilation.describe(description); !s.ok())
    return s;
  report.manifest = description.manifest;
  report.dtype = description.dtype;
  report.compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  llvm::Error error =
      predict(options, compilation.model.step, description, report);
  return error ? compilation.failure(std::move(error)) : rt::Status();
}

static llvm::Expected<Hardware> measure(const Options &options,
                                        Progress &progress) {
  if (options.backend != "cuda")
    return measureMachine(progress);
  bool isQuick = std::getenv("TPSP_CALIBRATE_QUICK");
  return measureGpus(isQuick ? GpuProbe::quick() : GpuProbe(), progress);
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
