#include "tpsp/Planning/StageSimulation.h"

#include "StepUse.h"
#include "tpsp/Compile/Compiler.h"
#include "tpsp/Compile/ParseModel.h"
#include "tpsp/Schedule/StageOrder.h"

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
                          parts, visit, plans.sums);
    if (!work)
      return work.takeError();
    result.work = std::move(*work);
    result.use.step.parts["kernels"] += double(parts) * result.work.sums;
    result.use.step.parts["products"] +=
        double(parts) * result.work.sumsInProducts;
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

/// The machine's cost model for the plans' mesh, if it is large enough.
static llvm::Expected<CostModel> costModel(const StagePlans &plans,
                                           const CompileOptions &compile,
                                           const Hardware &hardware) {
  if (std::string misfit = misfitOf(hardware, Mesh(plans.mesh));
      !misfit.empty())
    return llvm::createStringError(misfit);
  return CostModel(hardware, Mesh(plans.mesh), compile.threads);
}

/// Simulates the pipeline of `request`.
static llvm::Error simulateStep(const PipelineRequest &request,
                                const StageScheduling &scheduling,
                                const CostModel &cost, PipelineStep &step) {
  auto schedule = StageSchedule::read(scheduling.schedule, scheduling.actions,
                                      scheduling.placement);
  if (!schedule)
    return schedule.takeError();
  auto simulated = simulatePipeline(request, *schedule, cost);
  if (!simulated)
    return simulated.takeError();
  step = std::move(*simulated);
  return llvm::Error::success();
}

llvm::Expected<StageSimulation>
tpsp::simulateStages(const StagePlans &plans, const CompileOptions &compile,
                     const StageScheduling &scheduling,
                     const Hardware &hardware) {
  llvm::Expected<CostModel> cost = costModel(plans, compile, hardware);
  if (!cost)
    return cost.takeError();
  StageSimulation result;
  PipelineRequest &request = result.request;
  request.stageAxis = plans.stageAxis;
  request.parts = compile.microBatches;
  request.hasBackward = compile.grad;
  request.clips = compile.clip > 0;
  request.hidesReductions =
      compile.overlap != "off" && compile.overlap != "backward";
  request.units = scheduling.units;
  ChunkReader reader(plans, *cost, request.parts);
  for (const StagePlan &chunk : plans.chunks) {
    llvm::Expected<ReadChunk> read = reader.read(chunk);
    if (!read)
      return read.takeError();
    request.chunks.push_back({std::move(read->work), chunk.arguments});
    result.uses.push_back(std::move(read->use));
  }
  if (llvm::Error error = simulateStep(request, scheduling, *cost, result.step))
    return error;
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
                         request.compile.overlap, /*isWhole=*/false};
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
  options.stagePlacement = scheduling.placement;
  options.stageChunks = request.chunksPerStage;
  options.stageLayers.clear();
  for (int64_t layers : request.layers)
    options.stageLayers.push_back(std::to_string(layers));
  return options;
}

/// Gives the chunks the durations of the compiled step's segments. Segments
/// that run once a step belong to the update of the stage's first chunk. Before
/// stages exchange their sums, it reduces gradients.
static void setDurations(const Plan &plan, llvm::ArrayRef<double> seconds,
                         llvm::MutableArrayRef<PipelineChunk> chunks) {
  for (PipelineChunk &chunk : chunks)
    chunk.work.forward = chunk.work.input = chunk.work.weights =
        chunk.work.reducing = chunk.work.update = chunk.work.reductions = 0;
  auto isMeeting = [](const PlanSegment &segment) {
    return segment.isTransfer() && !segment.isOfMicroBatch();
  };
  bool haveMet = llvm::none_of(plan.segments, isMeeting);
  for (auto [segment, each] : llvm::zip_equal(plan.segments, seconds)) {
    haveMet |= isMeeting(segment);
    if (segment.isTransfer())
      continue;
    if (segment.chunk < 0) {
      bool isReducing = segment.work == SegmentWork::Update && !haveMet;
      for (int64_t stage = 0; stage < plan.numStages(); ++stage) {
        if (!segment.runsOn(stage))
          continue;
        double all = each * double(plan.timesOf(segment));
        chunks[stage].work.update += all;
        chunks[stage].work.reductions += isReducing ? all : 0;
      }
      continue;
    }
    ChunkWork &work = chunks[segment.chunk].work;
    // The segment for the other micro-batches comes before it.
    if (segment.runs == SegmentRuns::Last) {
      work.reducing = std::max(0.0, each - (segment.work == SegmentWork::Weights
                                                ? work.weights
                                                : work.input));
      continue;
    }
    (segment.work == SegmentWork::Forward    ? work.forward
     : segment.work == SegmentWork::Backward ? work.input
                                             : work.weights) = each;
  }
  for (PipelineChunk &chunk : chunks)
    chunk.work.backward = chunk.work.input + chunk.work.weights;
}

/// Compiles the step, and simulates again with the durations of its segments
/// and the arenas of its stages.
static llvm::Error
simulateWhole(mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
              const CompileOptions &options, const StageScheduling &scheduling,
              const Hardware &hardware, SimulatedStages &stages) {
  auto plan = planOfModule(std::move(module), path, options);
  if (!plan)
    return plan.takeError();
  llvm::Expected<CostModel> cost = costModel(stages.plans, options, hardware);
  if (!cost)
    return cost.takeError();
  auto seconds = segmentSeconds(**plan, *cost);
  if (!seconds)
    return seconds.takeError();
  StageSimulation &simulation = stages.simulation;
  int64_t numChunks = 0;
  for (const PlanSegment &segment : (*plan)->segments)
    numChunks = std::max(numChunks, segment.chunk + 1);
  if (numChunks > int64_t(simulation.request.chunks.size()))
    return llvm::createStringError(
        "the program is cut into " + llvm::Twine(numChunks) +
        " chunks, and its stages have " +
        llvm::Twine(simulation.request.chunks.size()));
  setDurations(**plan, *seconds, simulation.request.chunks);
  simulation.request.hidesReductions = false;
  if (llvm::Error error =
          simulateStep(simulation.request, scheduling, *cost, simulation.step))
    return error;
  for (auto [stage, bytes] :
       llvm::zip_equal(simulation.step.stages, (*plan)->stageArenas))
    stage.peak = bytes;
  stages.isWhole = true;
  return llvm::Error::success();
}

namespace {

/// Chunks that are compiled and simulated in one way.
struct StageWay {
  StageRequest request;
  SimulatedStages stages;

  double seconds() const { return stages.simulation.step.seconds; }
  int64_t bytes() const {
    int64_t most = 0;
    for (const StageUse &use : stages.simulation.step.stages)
      most = std::max(most, use.peak);
    return most;
  }
  bool fits(const Hardware &machine) const {
    return bytes() <= deviceBytes(machine);
  }
  /// Ranks share the memory of a CPU.
  int64_t deviceBytes(const Hardware &machine) const {
    return machine.memoryBytes /
           (machine.isCpu() ? Mesh(stages.plans.mesh).numRanks() : 1);
  }
  /// Whether `other` is compiled likewise, but for overlap.
  bool isLike(const StageWay &other) const {
    const CompileOptions &one = request.compile, &two = other.request.compile;
    return one.shardReplicated == two.shardReplicated &&
           one.bucketLayers == two.bucketLayers;
  }
  /// Limits the memory of stages whose chunks are overlapped as tpsp-overlap
  /// limits that of the whole step: by that of `serial`, which is not.
  void boundBy(const StageWay &serial, const Hardware &machine) {
    const int64_t device = deviceBytes(machine);
    const double share = 1 + request.compile.overlapMemory;
    for (auto [use, of] :
         llvm::zip_equal(stages.simulation.step.stages,
                         serial.stages.simulation.step.stages)) {
      auto most = int64_t(share * double(of.peak));
      if (of.peak <= device)
        most = std::min(most, device);
      use.peak = std::min(use.peak, std::max(most, of.peak));
    }
  }
};

/// Bounds the memory of all ways with overlap that keeps to --overlap-memory.
void boundBySerial(std::vector<StageWay> &ways, const Hardware &machine) {
  for (StageWay &way : ways)
    for (const StageWay &serial : ways)
      if (way.request.compile.overlap == "on" &&
          serial.request.compile.overlap == "off" && way.isLike(serial))
        way.boundBy(serial, machine);
}

} // namespace

llvm::Expected<SimulatedStages> tpsp::compileAndSimulateStages(
    mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress) {
  std::vector<StageWay> ways;
  int64_t compiled = 0;
  for (const StageRequest &way : waysOf(request)) {
    llvm::Expected<SimulatedStages> stages =
        compileOnce(module->clone(), path, way, scheduling, hardware, progress);
    if (!stages)
      return stages.takeError();
    compiled += stages->plans.compiled;
    ways.push_back({way, std::move(*stages)});
  }
  boundBySerial(ways, hardware);
  llvm::stable_sort(ways, [](const StageWay &one, const StageWay &other) {
    return one.seconds() < other.seconds();
  });
  // Whole steps have differed from those of their chunks by up to 7 %.
  constexpr double margin = 1.1;
  StageWay *fastest = nullptr;
  for (StageWay &way : ways) {
    bool fits = fastest && fastest->fits(hardware);
    if (fits && way.seconds() > margin * fastest->seconds())
      break;
    if (request.isWhole) {
      progress("the whole step");
      if (llvm::Error error = simulateWhole(
              module->clone(), path, stepOptions(way.request, scheduling),
              scheduling, hardware, way.stages))
        return error;
    }
    bool isFaster = !fastest || way.seconds() < fastest->seconds();
    bool fitsAlone = !fits && way.fits(hardware);
    if (fitsAlone || (isFaster && (!fits || way.fits(hardware))))
      fastest = &way;
  }
  fastest->stages.plans.compiled = compiled;
  return std::move(fastest->stages);
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
