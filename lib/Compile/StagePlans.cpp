#include "tpsp/Compile/StagePlans.h"

#include "ParseModel.h"
#include "StageCut.h"

#include "tpsp/Dialect/Tpsp/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/StageAxis.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tpsp;

static llvm::Error summary(StringRef path, StringRef phase) {
  return llvm::createStringError("'" + path + "' does not compile (" + phase +
                                 ")");
}

/// The mesh and the extents that the program is to have.
static LogicalResult configure(ModuleOp module, ArrayRef<std::string> sizes,
                               ArrayRef<std::string> extents) {
  PassManager pm(module.getContext());
  pm.addPass(createSymbolDCEPass());
  if (!sizes.empty()) {
    SetMeshOptions mesh;
    mesh.sizes.assign(sizes.begin(), sizes.end());
    pm.addPass(createSetMesh(std::move(mesh)));
  }
  if (!extents.empty()) {
    SetExtentsOptions options;
    options.extents.assign(extents.begin(), extents.end());
    pm.addPass(createSetExtents(std::move(options)));
  }
  return pm.run(module);
}

bool tpsp::hasStages(MLIRContext &context, StringRef path,
                     const CompileOptions &options) {
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  llvm::Expected<OwningOpRef<ModuleOp>> module = parseModel(context, path);
  if (!module) {
    llvm::consumeError(module.takeError());
    return false;
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
  }

  llvm::Expected<StagePlans> run(OwningOpRef<ModuleOp> owned) {
    ModuleOp module = *owned;
    progress("cutting layers");
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
    for (StageChunk &chunk : *chunks)
      if (llvm::Error error = add(module, chunk))
        return error;
    result.compiled = int64_t(known.size());
    return std::move(result);
  }

private:
  /// The program of one micro-batch.
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
      extent = cast<RankedTensorType>(argument.getType()).getDimSize(*dim);
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

  llvm::Error add(ModuleOp module, StageChunk &chunk) {
    StagePlan plan;
    plan.layers = chunk.layers;
    plan.received = int64_t(chunk.received);
    plan.sent = int64_t(chunk.sent);
    plan.arguments.assign(chunk.received, -1);
    plan.arguments.insert(plan.arguments.end(), chunk.arguments.begin(),
                          chunk.arguments.end());
    std::shared_ptr<const tpsp::Plan> &shared = known[textOf(chunk.function)];
    if (!shared) {
      progress(("chunk " + Twine(result.chunks.size())).str());
      CompileOptions own = options;
      own.function = chunk.function.getSymName().str();
      auto compiled =
          planOfModule(OwningOpRef<ModuleOp>(module.clone()), path, own);
      if (!compiled)
        return compiled.takeError();
      shared = std::move(*compiled);
    }
    plan.plan = shared;
    result.chunks.push_back(std::move(plan));
    return llvm::Error::success();
  }

  /// What makes chunks equal: all but the names of their parameters.
  static std::string textOf(func::FuncOp chunk) {
    auto copy = cast<func::FuncOp>(chunk->clone());
    Builder b(copy.getContext());
    copy.setSymName("chunk");
    copy->removeAttr(stageChunkAttrName);
    for (unsigned i = 0; i < copy.getNumArguments(); ++i) {
      copy.removeArgAttr(i, b.getStringAttr(nameAttrName));
      if (copy.getArgAttr(i, paramAttrName))
        copy.setArgAttr(i, paramAttrName, b.getUnitAttr());
    }
    std::string text;
    llvm::raw_string_ostream out(text);
    copy.print(out, OpPrintingFlags().useLocalScope().assumeVerified());
    copy.erase();
    return text;
  }

  StringRef path;
  const StageRequest &request;
  const CompileProgress &progress;
  /// Of one chunk.
  CompileOptions options;
  llvm::StringMap<std::shared_ptr<const tpsp::Plan>> known;
  StagePlans result;
};

} // namespace

llvm::Expected<StagePlans>
tpsp::compileStages(MLIRContext &context, StringRef path,
                    const StageRequest &request,
                    const CompileProgress &progress) {
  progress("parsing");
  llvm::Expected<OwningOpRef<ModuleOp>> parsed = parseModel(context, path);
  if (!parsed)
    return parsed.takeError();
  return StageCompiler(path, request, progress).run(std::move(*parsed));
}
