#include "tpsp/Planning/StagePlans.h"

#include "StageCut.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/Passes/Program/LayerRuns.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tpsp;

static llvm::Error summary(StringRef path, StringRef phase) {
  return llvm::createStringError("'" + path + "' does not compile (" + phase +
                                 ")");
}

/// Gives the program its mesh and extents.
static LogicalResult configure(ModuleOp module, ArrayRef<std::string> sizes,
                               ArrayRef<std::string> extents) {
  PassManager pm(module.getContext());
  pm.addPass(createSymbolDCEPass());
  addConfiguration(pm, sizes, extents, /*dtype=*/"");
  // Verified only at the end: the new mesh need not fit the old extents, nor
  // the new extents the old mesh.
  pm.enableVerifier(false);
  return success(succeeded(pm.run(module)) && succeeded(verify(module)));
}

SumOptions tpsp::sumOptionsOf(const CompileOptions &options) {
  return {options.sumDtype == "f32" ? 4 : 2, options.addGradients};
}

std::optional<bool> tpsp::hasStages(MLIRContext &context, StringRef path,
                                    const CompileOptions &options) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  llvm::Expected<OwningOpRef<ModuleOp>> module =
      parseModel(context, path, isRevised(options));
  if (!module) {
    llvm::consumeError(module.takeError());
    return std::nullopt;
  }
  std::optional<AxisId> axis = stageAxisOf(**module);
  if (!axis)
    return false;
  Mesh mesh = meshOf(**module);
  int64_t size = mesh.size(*axis);
  for (StringRef entry : options.mesh)
    if (auto [name, text] = entry.split('='); name == mesh.axis(*axis).name)
      text.getAsInteger(10, size);
  return size > 1;
}

std::string tpsp::stagesUnplanned(const CompileOptions &options) {
  if (options.rematerializeLayers > 0)
    return "--rematerialize-layers is not planned with stages; leave it out, "
           "or give --stages 1";
  if (options.gatherWeights == "step")
    return "--gather-weights step is not planned with stages; leave it out, or "
           "give --stages 1";
  return stagesProblem(options);
}

std::string tpsp::stagesProblem(const CompileOptions &options) {
  const std::tuple<bool, const char *, const char *> refused[] = {
      {!options.pad.empty(), "--pad",
       "give extents that the axes divide (--extent)"},
      {options.reduceGradients == "part", "--reduce-gradients part",
       "leave it out, and gradients are reduced once a step"},
      {options.gatherParameters == "forward", "--gather-parameters forward",
       "leave it out, and parameters are gathered in the update"},
      {options.requireOverlap > 0, "--require-overlap",
       "leave it out; --simulate prints the share that is hidden"},
      {options.lossScale != "none", "--loss-scale",
       "leave it out, or use --dtype bf16, which needs none"}};
  for (auto [isGiven, flag, wayOut] : refused)
    if (isGiven)
      return (Twine(flag) + " is not simulated with stages; " + wayOut).str();
  return "";
}

void tpsp::setForStages(CompileOptions &options) {
  options.reduceGradients = "step";
  options.gatherParameters = "update";
}

namespace {

class StageCompiler {
public:
  StageCompiler(StringRef path, const StageRequest &request,
                const CompileProgress &progress)
      : path(path), request(request), progress(progress),
        options(request.compile) {
    options.mesh.clear();
    options.extents.clear();
    options.microBatches = 1;
    options.returnChoices = false;
    options.countDropped = false;
  }

  llvm::Expected<StagePlans> run(OwningOpRef<ModuleOp> owned) {
    ModuleOp module = *owned;
    if (std::string problem = stagesProblem(request.compile); !problem.empty())
      return llvm::createStringError(problem);
    progress("cutting layers");
    result.sums = sumOptionsOf(request.compile);
    llvm::Expected<func::FuncOp> program =
        selectFunction(module, request.compile.function);
    if (!program)
      return program.takeError();
    if (failed(
            configure(module, request.compile.mesh, request.compile.extents)) ||
        failed(cutBatch(module, *program)))
      return summary(path, "configuring");
    describe(module, *program);
    auto chunks = cutStages(
        *program,
        {request.chunksPerStage,
         SmallVector<int64_t>(request.layers.begin(), request.layers.end())});
    if (failed(chunks))
      return summary(path, "cutting layers");
    for (const StageChunk &chunk : *chunks) {
      auto plan = planOf(module, chunk, /*oneMoreOf=*/"");
      if (!plan)
        return plan.takeError();
      result.chunks.push_back(std::move(*plan));
    }
    if (llvm::Error error = addDeeper(module, *chunks))
      return error;
    return std::move(result);
  }

private:
  /// Makes the program that of one micro-batch.
  LogicalResult cutBatch(ModuleOp module, func::FuncOp program) {
    int64_t parts = request.compile.microBatches;
    StringRef index = request.compile.microBatchIndex;
    if (parts == 1)
      return success();
    std::optional<int64_t> extent;
    for (BlockArgument argument : program.getArguments()) {
      IdxAttr idx = getIdx(argument);
      std::optional<unsigned> dim = idx ? idx.dimOf(index) : std::nullopt;
      if (!dim)
        continue;
      extent = typeOf(argument).getDimSize(*dim);
      int64_t blocks = 1;
      if (!isUnplaced(argument.getType())) {
        Mesh mesh = meshOf(module);
        blocks =
            mesh.groupSize(placementOf(argument.getType(), mesh).dims[*dim]);
      }
      if (*extent % (blocks * parts) != 0)
        return emitErrorAt(argument)
               << "has index '" << index << "' of extent " << *extent
               << ", which " << blocks << " shards of " << parts
               << " micro-batches do not divide; give a number that divides "
               << *extent / blocks;
    }
    if (!extent)
      return emitErrorAt(program)
             << "has no argument with an index '" << index
             << "' to cut into micro-batches; name the batch with "
                "--micro-batch-index";
    return configure(module, {},
                     {(index + "=" + Twine(*extent / parts)).str()});
  }

  void describe(ModuleOp module, func::FuncOp program) {
    Mesh mesh = meshOf(module);
    for (AxisId id = 0; id < mesh.numAxes(); ++id)
      result.mesh.push_back(mesh.axis(id));
    result.stageAxis = stageAxisOf(module).value_or(0);
    result.program = program.getSymName().str();
    for (unsigned i = 0; i < program.getNumArguments(); ++i) {
      auto name = program.getArgAttrOfType<StringAttr>(i, paramAttrName);
      if (!name)
        name = program.getArgAttrOfType<StringAttr>(i, nameAttrName);
      result.argumentNames.push_back(name ? name.str() : "");
    }
  }

  /// The plan of a chunk with its kept layers, and one more layer of the
  /// function `oneMoreOf`.
  llvm::Expected<StagePlan> planOf(ModuleOp module, const StageChunk &chunk,
                                   StringRef oneMoreOf) {
    StagePlan plan;
    plan.layers = chunk.layers;
    plan.received = int64_t(chunk.received);
    plan.sent = int64_t(chunk.sent);
    plan.arguments.assign(chunk.received, -1);
    plan.arguments.insert(plan.arguments.end(), chunk.arguments.begin(),
                          chunk.arguments.end());
    OwningOpRef<func::FuncOp> function(
        cast<func::FuncOp>(chunk.function->clone()));
    if (request.keptLayers > 0)
      leaveOut(*function, oneMoreOf, plan);
    ChunkPlans &known = request.known ? *request.known : own;
    std::shared_ptr<const tpsp::Plan> &shared = known[textOf(*function)];
    if (!shared) {
      progress(("plan " + Twine(++result.compiled)).str());
      auto compiled = compile(module, std::move(function));
      if (!compiled)
        return compiled.takeError();
      shared = std::move(*compiled);
    }
    plan.plan = shared;
    return plan;
  }

  llvm::Expected<std::shared_ptr<const tpsp::Plan>>
  compile(ModuleOp module, OwningOpRef<func::FuncOp> function) {
    CompileOptions own = options;
    own.function = function->getSymName().str();
    OwningOpRef<ModuleOp> copy = module.clone();
    copy->lookupSymbol(own.function)->erase();
    copy->push_back(function.release());
    return planOfModule(std::move(copy), path, own);
  }

  void leaveOut(func::FuncOp function, StringRef oneMoreOf, StagePlan &plan) {
    SmallVector<LayerRun> runs = layerRuns(function, request.keptLayers + 1);
    SmallVector<size_t> depths;
    for (LayerRun &run : runs) {
      std::string layer = run.name();
      plan.leftOut[layer] += int64_t(run.size() - request.keptLayers);
      bool isDeeper = layer == oneMoreOf;
      depths.push_back(request.keptLayers + (isDeeper ? 1 : 0));
      oneMoreOf = isDeeper ? StringRef() : oneMoreOf;
    }
    llvm::BitVector gone = keepLayers(function, runs, depths);
    for (int last = gone.find_last(); last >= 0; last = gone.find_prev(last)) {
      plan.received -= last < plan.received;
      plan.arguments.erase(plan.arguments.begin() + last);
    }
  }

  /// Compiles the deeper plans. They use chunks after the first if possible,
  /// because the first sends no gradients.
  llvm::Error addDeeper(ModuleOp module, ArrayRef<StageChunk> chunks) {
    for (size_t i = result.chunks.size(); i-- > 0;)
      for (const auto &[layer, count] : result.chunks[i].leftOut)
        if (i > 0 || !result.deeper.count(layer))
          result.deeper[layer].chunk = i;
    for (auto &[layer, deeper] : result.deeper) {
      auto plan = planOf(module, chunks[deeper.chunk], layer);
      if (!plan)
        return plan.takeError();
      deeper.plan = std::move(*plan);
    }
    return llvm::Error::success();
  }

  /// The text of a chunk without its parameters' names. Equal chunks have equal
  /// texts.
  std::string textOf(func::FuncOp chunk) const {
    auto copy = cast<func::FuncOp>(chunk->clone());
    Builder b(copy.getContext());
    copy.setSymName("chunk");
    copy->removeAttr(stageChunkAttrName);
    for (unsigned i = 0; i < copy.getNumArguments(); ++i) {
      copy.removeArgAttr(i, b.getStringAttr(nameAttrName));
      if (copy.getArgAttr(i, paramAttrName))
        copy.setArgAttr(i, paramAttrName, b.getUnitAttr());
    }
    std::string text = options.overlap + " " + options.rematerialize + " " +
                       std::to_string(options.rematerializeLayers) + " " +
                       options.shardReplicated + " " + options.bucketLayers +
                       "\n";
    llvm::raw_string_ostream out(text);
    copy.print(out, OpPrintingFlags().useLocalScope().assumeVerified());
    copy.erase();
    return text;
  }

  StringRef path;
  const StageRequest &request;
  const CompileProgress &progress;
  /// The options for one chunk.
  CompileOptions options;
  /// The cache, if the request has none.
  ChunkPlans own;
  StagePlans result;
};

} // namespace

llvm::Expected<StagePlans>
tpsp::compileStages(OwningOpRef<ModuleOp> module, StringRef path,
                    const StageRequest &request,
                    const CompileProgress &progress) {
  return StageCompiler(path, request, progress).run(std::move(module));
}
