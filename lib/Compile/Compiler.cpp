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
#include "tpsp/Passes/Program/ModelParts.h"
#include "tpsp/Passes/Program/ReturnInner.h"
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
  // Functions that update its parameters stay: they become a part of it.
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

/// Fails if an option's word is not in the table of options.
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

/// Adds the passes that change the program before any other pass reads it.
static void buildConfiguration(PassManager &pm, const CompileOptions &options) {
  // Unused functions are removed first, because the mesh need not divide their
  // tensors.
  pm.addPass(createSymbolDCEPass());
  addConfiguration(pm, options.mesh, options.extents, options.dtype);
  if (!options.inputGradients)
    pm.addPass(createFreezeInputs());
  if (!options.dropout)
    pm.addPass(createStopDrawing());
  pm.addPass(createNameValues());
}

/// The results that the caller wants. With PlanAlone there is no reference, and
/// the IR is verified only after configuring and placing. From a legal
/// placement, later passes make legal programs.
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
    // The reference comes last, because for an invalid program the passes give
    // better messages.
    if (llvm::Error e = addReference())
      return e;
    result.module = std::move(owned);
    return std::move(result);
  }

  /// Runs only the phases up to cutting micro-batches.
  llvm::Error runToCut() {
    for (auto phase :
         {&Compiling::selectProgram, &Compiling::configure, &Compiling::check,
          &Compiling::place, &Compiling::differentiate, &Compiling::cutBatch})
      if (llvm::Error e = (this->*phase)())
        return e;
    return llvm::Error::success();
  }

private:
  /// Cuts the batch of a step without its update.
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
    if (options.withoutLayers)
      if (std::string problem = removeLayers(*function); !problem.empty())
        return formatError("{0}", problem);
    name = function->getSymName().str();
    program = options.grad ? name + "_grad" : name;
    return llvm::Error::success();
  }

  /// Verified only at the end: the new mesh need not fit the old extents, nor
  /// the new extents the old mesh.
  llvm::Error configure() {
    if (llvm::Error e = runPasses("configuring", [&](PassManager &pm) {
          pm.enableVerifier(false);
          buildConfiguration(pm, options);
        }))
      return e;
    return verifyAfter("configuring");
  }

  llvm::Error check() {
    llvm::Error e = runPasses("checking", [&](PassManager &pm) {
      buildProgramPipeline(pm, options);
      if (options.countDropped)
        pm.addPass(createCountDropped());
      if (options.returnChoices)
        pm.addPass(createReturnChoices());
    });
    if (!e && !options.innerValues.empty())
      returnInner(module.lookupSymbol<func::FuncOp>(name), options.innerValues);
    // The program as written, before composites are replaced and gradients
    // added.
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
                                        : verifyAfter("placing");
  }

  llvm::Error differentiate() {
    if (llvm::Error e = transform("differentiating", [&](PassManager &pm) {
          buildDerivativePipeline(pm, options);
          if (options.grad)
            pm.addPass(createDropPrimals());
        }))
      return e;
    keepOnly(module, program);
    if (wanted == Wanted::Everything) {
      auto function = module.lookupSymbol<func::FuncOp>(program);
      addGradients(function, step);
      innerGradients = innerGradientsOf(function);
    }
    if (options.edit)
      options.edit(module);
    return llvm::Error::success();
  }

  llvm::Error insertCollectives() {
    llvm::Error e = transform("inserting collectives", [&](PassManager &pm) {
      buildCollectivePipeline(pm, options);
    });
    if (!e && options.withCollectives)
      options.withCollectives(module);
    return e;
  }

  llvm::Error plan() {
    if (llvm::Error e = transform("planning", [&](PassManager &pm) {
          buildPlanPipeline(pm, options);
        }))
      return e;
    result.plan = std::make_shared<Plan>(
        planOf(module.lookupSymbol<plan::ProgramOp>(program)));
    return llvm::Error::success();
  }

  /// Makes the reference from the program as written, with the gradients of the
  /// step.
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
    for (size_t number : innerGradients)
      result.reference.gradients.push_back(result.reference.results[number]);
    result.reference.reducedIn = referenceElement(options.reduceDtype);
    if (options.sumDtype != "f32" && options.microBatches > 1) {
      result.reference.summedIn = referenceElement(options.sumDtype);
      result.reference.microBatches = options.microBatches;
    }
    auto function = written->lookupSymbol<func::FuncOp>(name);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.getArgAttr(i, paramAttrName))
        result.reference.reduced.push_back(i);
    return llvm::Error::success();
  }

  /// Runs the passes of a phase that reads what people wrote. Each is verified,
  /// because a mistake may show in the first of them.
  template <typename Build>
  llvm::Error runPasses(StringRef phase, const Build &build) {
    progress(phase);
    PassManager pm(module.getContext());
    pm.enableVerifier(wanted == Wanted::Everything);
    build(pm);
    return succeeded(pm.run(module)) ? llvm::Error::success() : failure(phase);
  }

  /// Runs the passes of a phase on a program that is legal, with all its layers
  /// inlined, and verifies what the last of them made. To verify each pass
  /// takes a fifth of the compile time of a hundred layers; tpsp-opt does.
  template <typename Build>
  llvm::Error transform(StringRef phase, const Build &build) {
    llvm::Error e = runPasses(phase, [&](PassManager &pm) {
      build(pm);
      pm.enableVerifier(false);
    });
    if (e || wanted == Wanted::PlanAlone)
      return e;
    return verifyAfter(phase);
  }

  llvm::Error verifyAfter(StringRef phase) {
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
  /// The name of the function, and the name of the compiled program.
  std::string name, program;
  /// The module as written.
  OwningOpRef<ModuleOp> written;
  reference::Program step;
  /// The numbers of the inner results whose gradients the step returns.
  SmallVector<size_t> innerGradients;
  CompiledModel result;
};

} // namespace

/// The options that accept "time", which chooses the faster program, and "off".
static constexpr std::string CompileOptions::*timedOptions[] = {
    &CompileOptions::shardReplicated, &CompileOptions::bucketLayers};

CompileOptions tpsp::withoutTimedOptions(CompileOptions options) {
  for (auto field : timedOptions)
    if (options.*field == "time")
      options.*field = "off";
  return options;
}

/// The options as given, and every combination in which some "time" is replaced
/// by "off".
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

/// The simulated seconds of the step; nullopt if the program does not compile
/// or has no simulation.
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

/// Decides the options that say "time". Passes judge by a part of the program;
/// this function compares whole simulated steps. If nothing compiles, the
/// caller compiles again and reports why.
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
  // The update is left out: its results are not cut.
  options.optimizer = "none";
  options.clip = 0;
  options.lossScale = "none";
  options.edit = nullptr;
  llvm::Expected<func::FuncOp> function =
      selectFunction(*owned, options.function);
  if (!function)
    return function.takeError();
  // Chunk 0 is set so that written stages do not keep layers from being
  // checked.
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
