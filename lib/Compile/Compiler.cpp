#include "tpsp/Compile/Compiler.h"

#include "ParseModel.h"

#include "tpsp/Compile/ReferenceWalker.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Padding.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Pipelines.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tpsp;

template <typename... Args>
static llvm::Error error(const char *format, const Args &...args) {
  return llvm::createStringError(llvm::formatv(format, args...).str().c_str());
}

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
      parseModel(context, path, /*isPadded=*/!options.pad.empty());
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
  return problem.empty() ? llvm::Error::success() : error("{0}", problem);
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

static llvm::Expected<CompiledModel>
compileTo(Wanted wanted, OwningOpRef<ModuleOp> owned, StringRef path,
          const CompileOptions &options, const CompileProgress &progress) {
  ModuleOp module = *owned;
  const bool isChecked = wanted == Wanted::Everything;
  if (llvm::Error e = checkWords(options))
    return e;
  if (!options.pad.empty())
    leavePaddingOpen(module);
  llvm::Expected<func::FuncOp> function =
      selectFunction(module, options.function);
  if (!function)
    return function.takeError();
  std::string name = function->getSymName().str();

  auto run = [&](StringRef phase, auto build) -> llvm::Error {
    progress(phase);
    PassManager pm(module.getContext());
    pm.enableVerifier(isChecked);
    build(pm);
    if (succeeded(pm.run(module)))
      return llvm::Error::success();
    return error("'{0}' does not compile ({1})", path, phase);
  };
  // Checked as a whole: of a mesh and extents that fit each other, neither need
  // fit what the other replaces.
  if (llvm::Error e = run("configuring", [&](PassManager &pm) {
        pm.enableVerifier(false);
        buildConfiguration(pm, options);
      }))
    return e;
  if (failed(verify(module)))
    return error("'{0}' does not compile (configuring)", path);
  if (llvm::Error e = run("checking", [&](PassManager &pm) {
        buildProgramPipeline(pm, options);
        if (options.countDropped)
          pm.addPass(createCountDropped());
        if (options.returnChoices)
          pm.addPass(createReturnChoices());
      }))
    return e;
  // Before anything is taken apart or differentiated.
  OwningOpRef<ModuleOp> written;
  if (wanted == Wanted::Everything)
    written = module.clone();
  if (llvm::Error e = run("placing", [&](PassManager &pm) {
        buildPlacementPipeline(pm, options);
      }))
    return e;
  if (!isChecked && failed(verify(module)))
    return error("'{0}' does not compile (placing)", path);
  if (llvm::Error e = run("differentiating", [&](PassManager &pm) {
        buildDerivativePipeline(pm, options);
        if (options.grad)
          pm.addPass(createDropPrimals());
      }))
    return e;
  std::string program = options.grad ? name + "_grad" : name;
  keepOnly(module, program);
  reference::Program step;
  if (wanted == Wanted::Everything)
    addGradients(module.lookupSymbol<func::FuncOp>(program), step);
  if (options.edit)
    options.edit(module);

  CompiledModel result;
  if (llvm::Error e = run("inserting collectives", [&](PassManager &pm) {
        buildCollectivePipeline(pm, options);
      }))
    return e;
  if (options.withCollectives)
    options.withCollectives(module);
  if (llvm::Error e = run(
          "planning", [&](PassManager &pm) { buildPlanPipeline(pm, options); }))
    return e;
  result.plan = std::make_shared<Plan>(
      planOf(module.lookupSymbol<plan::ProgramOp>(program)));
  if (wanted == Wanted::PlanAlone)
    return result;
  // Last: of what is no program the passes say more.
  llvm::Expected<reference::Program> reference =
      referenceProgramOf(written->lookupSymbol<func::FuncOp>(name));
  if (!reference)
    return reference.takeError();
  result.reference = std::move(*reference);
  for (auto function : written->getOps<func::FuncOp>())
    if (auto of = function->getAttrOfType<FlatSymbolRefAttr>(updateOfAttrName);
        of && of.getValue() == name)
      if (llvm::Error error = addUpdate(function, result.reference))
        return error;
  result.reference.cotangents = std::move(step.cotangents);
  result.reference.gradients = std::move(step.gradients);
  result.module = std::move(owned);
  return result;
}

llvm::Expected<CompiledModel>
tpsp::compileModule(OwningOpRef<ModuleOp> owned, StringRef path,
                    const CompileOptions &options,
                    const CompileProgress &progress) {
  return compileTo(Wanted::Everything, std::move(owned), path, options,
                   progress);
}

llvm::Expected<std::shared_ptr<const tpsp::Plan>>
tpsp::planOfModule(OwningOpRef<ModuleOp> owned, StringRef path,
                   const CompileOptions &options) {
  auto compiled = compileTo(Wanted::PlanAlone, std::move(owned), path, options,
                            [](StringRef) {});
  if (!compiled)
    return compiled.takeError();
  return std::move(compiled->plan);
}
