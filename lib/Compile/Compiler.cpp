#include "tpsp/Compile/Compiler.h"

#include "ReferenceWalker.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"
#include "tpsp/Passes/Program/LayerRuns.h"
#include "tpsp/Schedule/Simulator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tpsp;

/// Removes every function but the one called `name`.
static void keepOnly(ModuleOp module, StringRef name) {
  // What updates its parameters becomes a part of it.
  for (auto function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function.getSymName() != name && !function->hasAttr(updateOfAttrName))
      function.erase();
}

llvm::Expected<CompiledModel>
tpsp::compileModel(MLIRContext &context, StringRef path,
                   const CompileOptions &options,
                   const CompileProgress &progress) {
  progress("parsing");
  llvm::Expected<OwningOpRef<ModuleOp>> parsed =
      parseModel(context, path, isRevised(options));
  if (!parsed)
    return parsed.takeError();
  return compileModule(std::move(*parsed), path, options, progress);
}

/// Words that the table of options does not have.
static llvm::Error checkWords(const CompileOptions &options) {
  std::string problem;
  CompileOptions::forEachOption([&](auto field, const OptionRow &row) {
    if constexpr (std::is_same_v<decltype(field),
                                 std::string CompileOptions::*>)
      if (problem.empty() && options.*field != CompileOptions().*field)
        problem = row.problemOf(options.*field);
  });
  return problem.empty() ? llvm::Error::success() : formatError("{0}", problem);
}

/// What the program is to be, before it is looked at.
static void buildConfiguration(PassManager &pm, const CompileOptions &options) {
  // The mesh need not divide what other functions shard.
  pm.addPass(createSymbolDCEPass());
  addConfiguration(pm, options.mesh, options.extents, options.dtype);
  if (!options.inputGradients)
    pm.addPass(createFreezeInputs());
  if (!options.dropout)
    pm.addPass(createStopDrawing());
  pm.addPass(createNameValues());
}

/// Who wants the plan alone has no reference. Of its passes only those are
/// checked that place tensors: from a legal placement they make legal programs.
enum class Wanted { Everything, PlanAlone };

namespace {

/// Compiles one module, phase by phase.
class Compiling {
public:
  Compiling(Wanted wanted, OwningOpRef<ModuleOp> module, StringRef path,
            const CompileOptions &options, const CompileProgress &progress)
      : wanted(wanted), owned(std::move(module)), module(*owned), path(path),
        options(options), progress(progress) {}

  llvm::Expected<CompiledModel> run() {
    for (auto phase :
         {&Compiling::selectProgram, &Compiling::configure, &Compiling::check,
          &Compiling::place, &Compiling::differentiate,
          &Compiling::insertCollectives, &Compiling::plan})
      if (llvm::Error e = (this->*phase)())
        return e;
    if (wanted == Wanted::PlanAlone)
      return std::move(result);
    // Last: of what is no program the passes say more.
    if (llvm::Error e = addReference())
      return e;
    result.module = std::move(owned);
    return std::move(result);
  }

  /// Instead: as far as micro-batches are cut.
  llvm::Error runToCut() {
    for (auto phase :
         {&Compiling::selectProgram, &Compiling::configure, &Compiling::check,
          &Compiling::place, &Compiling::differentiate, &Compiling::cutBatch})
      if (llvm::Error e = (this->*phase)())
        return e;
    return llvm::Error::success();
  }

private:
  /// Of a step without its update, whether the batch can be cut.
  llvm::Error cutBatch() {
    return runPasses("cutting the batch", [&](PassManager &pm) {
      addPass(pm, createMicroBatch(), options);
    });
  }

  llvm::Error selectProgram() {
    if (llvm::Error e = checkWords(options))
      return e;
    if (!options.pad.empty())
      leavePaddingOpen(module);
    llvm::Expected<func::FuncOp> function =
        selectFunction(module, options.function);
    if (!function)
      return function.takeError();
    name = function->getSymName().str();
    program = options.grad ? name + "_grad" : name;
    return llvm::Error::success();
  }

  /// Checked as a whole: of a mesh and extents that fit each other, neither
  /// need fit what the other replaces.
  llvm::Error configure() {
    if (llvm::Error e = runPasses("configuring", [&](PassManager &pm) {
          pm.enableVerifier(false);
          buildConfiguration(pm, options);
        }))
      return e;
    return verifyBehind("configuring");
  }

  llvm::Error check() {
    llvm::Error e = runPasses("checking", [&](PassManager &pm) {
      buildProgramPipeline(pm, options);
      if (options.countDropped)
        pm.addPass(createCountDropped());
      if (options.returnChoices)
        pm.addPass(createReturnChoices());
    });
    // Before anything is taken apart or differentiated.
    if (!e && wanted == Wanted::Everything)
      written = module.clone();
    return e;
  }

  llvm::Error place() {
    if (llvm::Error e = runPasses("placing", [&](PassManager &pm) {
          buildPlacementPipeline(pm, options);
        }))
      return e;
    return wanted == Wanted::Everything ? llvm::Error::success()
                                        : verifyBehind("placing");
  }

  llvm::Error differentiate() {
    if (llvm::Error e = runPasses("differentiating", [&](PassManager &pm) {
          buildDerivativePipeline(pm, options);
          if (options.grad)
            pm.addPass(createDropPrimals());
        }))
      return e;
    keepOnly(module, program);
    if (wanted == Wanted::Everything)
      addGradients(module.lookupSymbol<func::FuncOp>(program), step);
    if (options.edit)
      options.edit(module);
    return llvm::Error::success();
  }

  llvm::Error insertCollectives() {
    llvm::Error e = runPasses("inserting collectives", [&](PassManager &pm) {
      buildCollectivePipeline(pm, options);
    });
    if (!e && options.withCollectives)
      options.withCollectives(module);
    return e;
  }

  llvm::Error plan() {
    if (llvm::Error e = runPasses("planning", [&](PassManager &pm) {
          buildPlanPipeline(pm, options);
        }))
      return e;
    result.plan = std::make_shared<Plan>(
        planOf(module.lookupSymbol<plan::ProgramOp>(program)));
    return llvm::Error::success();
  }

  /// Of the program as it was written, with the gradients of the step.
  llvm::Error addReference() {
    llvm::Expected<reference::Program> reference =
        referenceProgramOf(written->lookupSymbol<func::FuncOp>(name));
    if (!reference)
      return reference.takeError();
    result.reference = std::move(*reference);
    for (auto function : written->getOps<func::FuncOp>())
      if (auto of =
              function->getAttrOfType<FlatSymbolRefAttr>(updateOfAttrName);
          of && of.getValue() == name)
        if (llvm::Error error = addUpdate(function, result.reference))
          return error;
    result.reference.cotangents = std::move(step.cotangents);
    result.reference.gradients = std::move(step.gradients);
    result.reference.reducedIn = referenceElement(options.reduceDtype);
    auto function = written->lookupSymbol<func::FuncOp>(name);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, paramAttrName))
        result.reference.reduced.push_back(i);
    return llvm::Error::success();
  }

  template <typename Build>
  llvm::Error runPasses(StringRef phase, const Build &build) {
    progress(phase);
    PassManager pm(module.getContext());
    pm.enableVerifier(wanted == Wanted::Everything);
    build(pm);
    return succeeded(pm.run(module)) ? llvm::Error::success() : failure(phase);
  }

  llvm::Error verifyBehind(StringRef phase) {
    return succeeded(verify(module)) ? llvm::Error::success() : failure(phase);
  }

  llvm::Error failure(StringRef phase) {
    return formatError("'{0}' does not compile ({1})", path, phase);
  }

  const Wanted wanted;
  OwningOpRef<ModuleOp> owned;
  ModuleOp module;
  const StringRef path;
  const CompileOptions &options;
  const CompileProgress &progress;
  /// Names of the function, and of that which is compiled.
  std::string name, program;
  /// The module as it was written.
  OwningOpRef<ModuleOp> written;
  reference::Program step;
  CompiledModel result;
};

} // namespace

/// Options that take "time", what is faster, and "off".
static constexpr std::string CompileOptions::*timedOptions[] = {
    &CompileOptions::shardReplicated, &CompileOptions::bucketLayers};

CompileOptions tpsp::withoutTimedOptions(CompileOptions options) {
  for (auto field : timedOptions)
    if (options.*field == "time")
      options.*field = "off";
  return options;
}

/// As asked, and with each of the options that say "time" off.
static std::vector<CompileOptions> waysOf(const CompileOptions &options) {
  std::vector<CompileOptions> ways = {options};
  for (auto field : timedOptions)
    for (size_t i = ways.size(); i-- > 0 && options.*field == "time";) {
      CompileOptions way = ways[i];
      way.*field = "off";
      ways.push_back(std::move(way));
    }
  return ways;
}

/// Seconds of the step that the simulator predicts; nullopt if there are none.
static std::optional<double> secondsOf(ModuleOp module, StringRef path,
                                       CompileOptions options) {
  options.withCollectives = nullptr;
  const CompileProgress silent = [](StringRef) {};
  auto compiled =
      Compiling(Wanted::PlanAlone, module.clone(), path, options, silent).run();
  llvm::Expected<const Hardware &> machine = options.hardware.read();
  if (!compiled || !machine) {
    llvm::consumeError(compiled.takeError());
    llvm::consumeError(machine.takeError());
    return std::nullopt;
  }
  Mesh mesh(compiled->plan->mesh);
  if (!misfitOf(*machine, mesh).empty())
    return std::nullopt;
  auto step =
      simulate(*compiled->plan, CostModel(*machine, mesh, options.threads));
  if (step)
    return step->seconds;
  llvm::consumeError(step.takeError());
  return std::nullopt;
}

/// The options with "time" settled: passes propose by what they see of the
/// program, and this decides by whole steps. What does not compile is left to
/// who compiles it next, and says why.
static CompileOptions settled(ModuleOp module, StringRef path,
                              const CompileOptions &options) {
  std::vector<CompileOptions> ways = waysOf(options);
  if (ways.size() == 1)
    return options;
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) {});
  const CompileOptions *best = &ways.front();
  std::optional<double> least;
  for (const CompileOptions &way : ways)
    if (std::optional<double> seconds = secondsOf(module, path, way);
        seconds && (!least || *seconds < *least)) {
      best = &way;
      least = seconds;
    }
  return *best;
}

llvm::Expected<CompiledModel>
tpsp::compileModule(OwningOpRef<ModuleOp> owned, StringRef path,
                    const CompileOptions &options,
                    const CompileProgress &progress) {
  CompileOptions own = settled(*owned, path, options);
  return Compiling(Wanted::Everything, std::move(owned), path, own, progress)
      .run();
}

llvm::Error tpsp::checkMicroBatches(OwningOpRef<ModuleOp> owned, StringRef path,
                                    const CompileOptions &given) {
  if (given.microBatches == 1)
    return llvm::Error::success();
  CompileOptions options = given;
  // Its results are no part of what is cut.
  options.optimizer = "none";
  options.clip = 0;
  options.lossScale = "none";
  options.edit = nullptr;
  llvm::Expected<func::FuncOp> function =
      selectFunction(*owned, options.function);
  if (!function)
    return function.takeError();
  // Stages that are written are no reason not to look at all layers.
  (*function)->setAttr(stageChunkAttrName,
                       Builder(owned->getContext()).getI64IntegerAttr(0));
  constexpr size_t kept = 2;
  SmallVector<LayerRun> runs = layerRuns(*function, kept);
  keepLayers(*function, runs, SmallVector<size_t>(runs.size(), kept));
  const CompileProgress silent = [](StringRef) {};
  return Compiling(Wanted::PlanAlone, std::move(owned), path, options, silent)
      .runToCut();
}

llvm::Expected<std::shared_ptr<const tpsp::Plan>>
tpsp::planOfModule(OwningOpRef<ModuleOp> owned, StringRef path,
                   const CompileOptions &options) {
  const CompileProgress silent = [](StringRef) {};
  CompileOptions own = settled(*owned, path, options);
  auto compiled =
      Compiling(Wanted::PlanAlone, std::move(owned), path, own, silent).run();
  if (!compiled)
    return compiled.takeError();
  return std::move(compiled->plan);
}
