#include "tpsp/Planning/StageSimulation.h"

#include "StepUse.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/Compile/ParseModel.h"

using namespace tpsp;

namespace {

struct ReadChunk {
  ChunkWork work;
  ChunkUse use;
};

/// Reads chunks' plans; equal chunks are read once.
class ChunkReader {
public:
  ChunkReader(const StagePlans &plans, const CostModel &cost, int64_t parts)
      : plans(plans), cost(cost), parts(parts) {}

  llvm::Expected<ReadChunk> read(const StagePlan &chunk) {
    llvm::Expected<const ReadChunk &> own = readPlan(chunk);
    if (!own)
      return own.takeError();
    ReadChunk result = *own;
    for (const auto &[layer, count] : chunk.leftOut)
      if (llvm::Error error = addLeftOut(layer, count, chunk, result))
        return error;
    return result;
  }

private:
  llvm::Expected<const ReadChunk &> readPlan(const StagePlan &chunk) {
    // The last chunk may compute the same as others but send nothing, so the
    // key has the ends.
    auto [place, isNew] =
        known.try_emplace({chunk.plan.get(), chunk.received, chunk.sent});
    ReadChunk &result = place->second;
    if (!isNew)
      return result;
    auto visit = [&](const Plan &segment, const SimulatedStep &step,
                     bool isUpdate) {
      double before = result.use.step.computing;
      double times = isUpdate ? 1 : double(parts);
      addUse(segment, step, cost, times, result.use.step);
      if (!isUpdate)
        result.use.computing += (result.use.step.computing - before) / times;
    };
    auto work = chunkWork(*chunk.plan, cost, {chunk.received, chunk.sent},
                          parts, visit);
    if (!work)
      return work.takeError();
    result.work = std::move(*work);
    result.use.step.parts["kernels"] += double(parts) * result.work.sums;
    return result;
  }

  llvm::Error addLeftOut(const std::string &layer, int64_t count,
                         const StagePlan &chunk, ReadChunk &sum) {
    const StagePlans::Deeper &deeper = plans.deeper.at(layer);
    auto base = readPlan(plans.chunks[deeper.chunk]);
    if (!base)
      return base.takeError();
    auto more = readPlan(deeper.plan);
    if (!more)
      return more.takeError();
    addLayers(sum.work, base->work, more->work, count, chunk.received > 0);
    planner::addDifference(sum.use.step, base->use.step, more->use.step,
                           double(count));
    sum.use.computing +=
        double(count) *
        std::max(more->use.computing - base->use.computing, 0.0);
    return llvm::Error::success();
  }

  const StagePlans &plans;
  const CostModel &cost;
  const int64_t parts;
  std::map<std::tuple<const Plan *, int64_t, int64_t>, ReadChunk> known;
};

} // namespace

llvm::Expected<StageSimulation>
tpsp::simulateStages(const StagePlans &plans, const CompileOptions &compile,
                     const StageScheduling &scheduling,
                     const Hardware &hardware) {
  if (std::string misfit = misfitOf(hardware, Mesh(plans.mesh));
      !misfit.empty())
    return llvm::createStringError(misfit);
  CostModel cost(hardware, Mesh(plans.mesh), compile.threads);
  PipelineRequest request;
  request.stageAxis = plans.stageAxis;
  request.parts = compile.microBatches;
  request.hasBackward = compile.grad;
  request.clips = compile.clip > 0;
  request.units = scheduling.units;
  StageSimulation result;
  ChunkReader reader(plans, cost, request.parts);
  for (const StagePlan &chunk : plans.chunks) {
    llvm::Expected<ReadChunk> read = reader.read(chunk);
    if (!read)
      return read.takeError();
    request.chunks.push_back({std::move(read->work), chunk.arguments});
    result.uses.push_back(std::move(read->use));
  }
  auto schedule = StageSchedule::read(scheduling.schedule, scheduling.actions);
  if (!schedule)
    return schedule.takeError();
  auto step = simulatePipeline(request, *schedule, cost);
  if (!step)
    return step.takeError();
  result.step = std::move(*step);
  return result;
}

static llvm::Expected<SimulatedStages>
compileOnce(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
            const StageRequest &request, const StageScheduling &scheduling,
            const Hardware &hardware, const CompileProgress &progress) {
  llvm::Expected<StagePlans> plans =
      compileStages(std::move(module), path, request, progress);
  if (!plans)
    return plans.takeError();
  llvm::Expected<StageSimulation> simulation =
      simulateStages(*plans, request.compile, scheduling, hardware);
  if (!simulation)
    return simulation.takeError();
  return SimulatedStages{std::move(*plans), std::move(*simulation),
                         request.compile.overlap};
}

/// The request as given, without overlap, and without options that say "time".
static std::vector<StageRequest> waysOf(const StageRequest &request) {
  std::vector<StageRequest> ways = {request};
  if (request.compile.overlap != "off") {
    ways.push_back(request);
    ways.back().compile.overlap = "off";
  }
  CompileOptions plain = withoutTimedOptions(request.compile);
  bool isTimed = plain.shardReplicated != request.compile.shardReplicated ||
                 plain.bucketLayers != request.compile.bucketLayers;
  for (size_t i = ways.size(); i-- > 0 && isTimed;) {
    StageRequest way = ways[i];
    way.compile = withoutTimedOptions(way.compile);
    ways.push_back(std::move(way));
  }
  return ways;
}

/// The options with which the whole step is compiled.
static CompileOptions stepOptions(const StageRequest &request,
                                  const StageScheduling &scheduling) {
  CompileOptions options = request.compile;
  options.stageSchedule = scheduling.schedule;
  options.stageBound = scheduling.units;
  options.stageActions = scheduling.actions;
  options.stageChunks = request.chunksPerStage;
  options.stageLayers.clear();
  for (int64_t layers : request.layers)
    options.stageLayers.push_back(std::to_string(layers));
  return options;
}

/// Sets the peaks of stages' memory to the arenas of the compiled step.
static llvm::Error setPeaks(mlir::OwningOpRef<mlir::ModuleOp> module,
                            llvm::StringRef path, const CompileOptions &options,
                            PipelineStep &step) {
  auto plan = planOfModule(std::move(module), path, options);
  if (!plan)
    return plan.takeError();
  for (auto [stage, bytes] :
       llvm::zip_equal(step.stages, (*plan)->stageArenas))
    stage.peak = bytes;
  return llvm::Error::success();
}

llvm::Expected<SimulatedStages> tpsp::compileAndSimulateStages(
    mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress) {
  std::optional<SimulatedStages> fastest;
  CompileOptions fastestOptions;
  int64_t compiled = 0;
  for (const StageRequest &way : waysOf(request)) {
    llvm::Expected<SimulatedStages> stages =
        compileOnce(module->clone(), path, way, scheduling, hardware, progress);
    if (!stages)
      return stages.takeError();
    compiled += stages->plans.compiled;
    if (!fastest ||
        stages->simulation.step.seconds < fastest->simulation.step.seconds) {
      fastest = std::move(*stages);
      fastestOptions = stepOptions(way, scheduling);
    }
  }
  fastest->plans.compiled = compiled;
  bool isWhole = fastest->plans.deeper.empty();
  progress("the whole step");
  if (llvm::Error error =
          isWhole ? setPeaks(std::move(module), path, fastestOptions,
                             fastest->simulation.step)
                  : llvm::Error::success())
    return error;
  return std::move(*fastest);
}

llvm::Expected<SimulatedStages> tpsp::compileAndSimulateStages(
    mlir::MLIRContext &context, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress) {
  progress("parsing");
  auto parsed = parseModel(context, path, isRevised(request.compile));
  if (!parsed)
    return parsed.takeError();
  if (llvm::Error error =
          checkMicroBatches((*parsed)->clone(), path, request.compile))
    return error;
  return compileAndSimulateStages(std::move(*parsed), path, request, scheduling,
                                  hardware, progress);
}
