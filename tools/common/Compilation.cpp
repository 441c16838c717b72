#include "Compilation.h"

#include "tpsp/Passes/Explain/Explanation.h"
#include "tpsp/Runtime/DeviceInventory.h"
#include "tpsp/Schedule/Hardware.h"

#include "llvm/ADT/StringExtras.h"

using namespace tpsp;
using namespace tpsp::tool;

/// A file may be run anywhere.
static bool isForGpus(const ToolOptions &options, const CompileUse &use) {
  return options.backend == "cuda" || use.isEmitted;
}

/// Whether --hardware is one. What is wrong with it, is said when it is needed.
static bool describesGpu(const ToolOptions &options) {
  llvm::Expected<const Hardware &> machine = options.hardware.read();
  if (machine)
    return !machine->isCpu();
  llvm::consumeError(machine.takeError());
  return false;
}

/// In one call where the GPU at hand has a library for it, or a GPU is
/// simulated. A file may be run where there is none.
static std::string attentionForm(const ToolOptions &options,
                                 const CompileUse &use) {
  if (use.isSimulated)
    return describesGpu(options) ? "fused" : "rows";
  rt::DeviceInventory inventory;
  bool hasLibrary = options.backend == "cuda" && !use.isEmitted &&
                    rt::listDevices("cuda", inventory).ok() &&
                    inventory.hasAttention;
  return hasLibrary ? "fused" : "rows";
}

CompileOptions tpsp::tool::resolved(const ToolOptions &options,
                                    const CompileUse &use) {
  CompileOptions compile = options;
  compile.keepTrivial = options.ncclAlways;
  compile.bucketBytes = options.bucketMib * (1 << 20);
  // A file may be verified wherever it is run.
  compile.returnChoices = use.isVerified || use.isEmitted;
  compile.countDropped = true;
  compile.device = isForGpus(options, use) ? "cuda" : "none";
  compile.forGpu = use.isSimulated && describesGpu(options);
  if (options.isAutomatic("attention"))
    compile.attention = attentionForm(options, use);
  // Where a GPU's matmul library does them: on CPUs they have not been found to
  // save time.
  if (options.isAutomatic("epilogues"))
    compile.epilogues = isForGpus(options, use) || describesGpu(options);
  return compile;
}

static mlir::DialectRegistry dialects() {
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

Compilation::Compilation(const ToolOptions &options, const CompileUse &use,
                         bool speaks)
    : options(options), use(use),
      context(dialects(), mlir::MLIRContext::Threading::DISABLED),
      elsewhere(unsaid),
      diagnostics(sources, &context,
                  speaks ? static_cast<llvm::raw_ostream &>(llvm::errs())
                         : elsewhere) {
  // One sentence and the line it is about; not the operation in full.
  context.printOpOnDiagnostic(false);
}

rt::Status Compilation::run(Progress &progress) {
  CompileOptions compile = resolved(options, use);
  if (use.isExplained)
    compile.withCollectives = [&](mlir::ModuleOp module) {
      explanation = explanationOf(module);
    };
  auto compiled =
      compileModel(context, options.model, compile, [&](llvm::StringRef phase) {
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

rt::Status Compilation::failure(llvm::Error error) {
  return {TPSP_RT_INVALID, unsaid + llvm::toString(std::move(error))};
}

rt::Status tpsp::tool::compile(const ToolOptions &options,
                               const CompileUse &use, bool speaks,
                               Progress &progress, Program &out) {
  Compilation compilation(options, use, speaks);
  TPSP_TRY(compilation.run(progress));
  out.description = std::move(compilation.description);
  out.explanation = std::move(compilation.explanation);
  progress.phase("compiling: machine code");
  auto code = JitProgram::create(*compilation.model.module, out.plan().program);
  if (!code)
    return compilation.failure(code.takeError());
  out.step = code->step;
  out.code = std::make_shared<JitProgram>(std::move(*code));
  return {};
}

std::string tpsp::tool::hardwareNames() {
  return llvm::join(builtinHardware(), ", ");
}

double tpsp::tool::peakFlops(const ToolOptions &options, int64_t dtype,
                             int64_t ranks) {
  llvm::Expected<const Hardware &> machine = options.hardware.read();
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return 0;
  }
  return matmulPeak(*machine, dtype, ranks);
}
