#include "Compilation.h"

#include "tpsp/Compile/ParseModel.h"
#include "tpsp/Passes/Explain/Explanation.h"
#include "tpsp/Passes/Program/ModelParts.h"
#include "tpsp/Passes/Program/ReturnLogits.h"
#include "tpsp/Runtime/DeviceInventory.h"
#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Schedule/StageActions.h"

#include "llvm/ADT/StringExtras.h"

using namespace tpsp;
using namespace tpsp::tool;

/// Whether to compile kernels for GPUs. A plan file gets them because it may
/// run on another machine.
static bool isForGpus(const ToolOptions &options, const CompileUse &use) {
  return options.backend == "cuda" || use.isEmitted;
}

/// Whether --hardware describes a GPU. An unreadable description is reported
/// later, when the compiler needs it.
static bool describesGpu(const ToolOptions &options) {
  llvm::Expected<const Hardware &> machine = options.hardware.read();
  if (machine)
    return !machine->isCpu();
  llvm::consumeError(machine.takeError());
  return false;
}

/// Attention is "fused", one call, if a GPU is simulated or if this machine's
/// GPUs have a library for it. A plan file gets "rows", because the machine
/// that runs it may lack the library.
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

/// Whether a file of actions gathers weights. A file that cannot be read is
/// reported later, when the compiler needs it.
static bool gathersOnce(const std::string &stageActions) {
  if (stageActions.empty())
    return false;
  llvm::Expected<StageActions> actions = readStageActions(stageActions);
  if (actions)
    return actions->gathers > 0;
  llvm::consumeError(actions.takeError());
  return false;
}

CompileOptions tpsp::tool::resolved(const ToolOptions &options,
                                    const CompileUse &use) {
  CompileOptions compile = options;
  compile.keepTrivial = options.ncclAlways;
  compile.bucketBytes = options.bucketMib * (1 << 20);
  // A plan file may be verified on any machine that runs it.
  compile.returnChoices = use.isVerified || use.isEmitted;
  compile.countDropped = true;
  compile.device = isForGpus(options, use) ? "cuda" : "none";
  compile.forGpu = use.isSimulated && describesGpu(options);
  if (options.isAutomatic("attention"))
    compile.attention = attentionForm(options, use);
  if (options.isAutomatic("gather-weights"))
    compile.gatherWeights = gathersOnce(options.stageActions) ? "step" : "part";
  // A GPU's matmul library fuses epilogues. On CPUs they have not been found to
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
  // Diagnostics are one sentence and the source line, not the whole operation.
  context.printOpOnDiagnostic(false);
}

/// Compiles a forward pass that returns logits.
static llvm::Expected<CompiledModel>
compileSampled(mlir::MLIRContext &context, CompileOptions options,
               llvm::StringRef path, const CompileProgress &progress) {
  auto module = parseModel(context, path, isRevised(options));
  if (!module)
    return module.takeError();
  auto function = selectFunction(**module, options.function);
  if (!function)
    return function.takeError();
  if (std::string problem = returnLogits(*function); !problem.empty())
    return formatError("{0}", problem);
  for (const std::string &extent :
       fewestSequences(*function, options.mesh, options.extents))
    options.extents.push_back(extent);
  return compileModule(std::move(*module), path, options, progress);
}

/// Compiles one function of a model, which may be private.
static llvm::Expected<CompiledModel>
compileLayer(mlir::MLIRContext &context, const CompileOptions &options,
             llvm::StringRef path, const CompileProgress &progress) {
  auto module = parseModel(context, path, isRevised(options));
  if (!module)
    return module.takeError();
  exposeLayer(**module, options.function);
  return compileModule(std::move(*module), path, options, progress);
}

llvm::Expected<CompiledModel>
Compilation::compileAs(const CompileOptions &compile,
                       const CompileProgress &report) {
  if (use.isSampled)
    return compileSampled(context, compile, options.model, report);
  if (use.isLayer)
    return compileLayer(context, compile, options.model, report);
  return compileModel(context, options.model, compile, report);
}

CodeEffort tpsp::tool::effortOf(const ToolOptions &options) {
  return options.codeEffort == "little" ? CodeEffort::Little : CodeEffort::Full;
}

rt::Status Compilation::run(Progress &progress) {
  CompileOptions compile = resolved(options, use);
  if (use.isExplained)
    compile.withCollectives = [&](mlir::ModuleOp module) {
      explanation = explanationOf(module);
    };
  auto report = [&](llvm::StringRef phase) {
    progress.phase("compiling: " + phase.str());
  };
  auto compiled = compileAs(compile, report);
  if (!compiled)
    return failure(compiled.takeError());
  model = std::move(*compiled);
  auto described = describePlan(model, options.model, options.dtype);
  if (!described)
    return failure(described.takeError());
  description = std::move(*described);
  return {};
}

rt::Status Compilation::findParts(ModelParts &out) {
  auto module = parseModel(context, options.model, isRevised(options));
  if (!module)
    return failure(module.takeError());
  auto function = selectFunction(**module, options.function);
  if (!function)
    return failure(function.takeError());
  std::string problem = partsOf(*function, out);
  return problem.empty() ? rt::Status()
                         : rt::Status(TPSP_RT_INVALID, unsaid + problem);
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
  auto code = JitProgram::create(*compilation.model.module, out.plan().program,
                                 effortOf(options));
  if (!code)
    return compilation.failure(code.takeError());
  out.step = code->step;
  out.code = std::make_shared<JitProgram>(std::move(*code));
  return {};
}

rt::Status tpsp::tool::findParts(const ToolOptions &options, bool speaks,
                                 ModelParts &out) {
  return Compilation(options, CompileUse(), speaks).findParts(out);
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
