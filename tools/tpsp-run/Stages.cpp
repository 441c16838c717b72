// From a program with stages to what --simulate says of it.
#include "Stages.h"

#include "WithCompiler.h"
#include "common/Compilation.h"

#include <chrono>

using namespace tpsp;
using namespace tpsp::run;

/// "8", or an error that says what else is given.
static llvm::Error readLayers(const Options &options,
                              std::vector<int64_t> &layers) {
  for (const std::string &text : options.stageLayers) {
    int64_t count = 0;
    if (llvm::StringRef(text).getAsInteger(10, count) || count < 1)
      return llvm::createStringError(
          "--stage-layers: '" + text +
          "' is no number of layers; give one from 1 for each chunk, as 9,8,8");
    layers.push_back(count);
  }
  return llvm::Error::success();
}

static PipelineRequest requestOf(const Options &options,
                                 const StagePlans &plans) {
  PipelineRequest request;
  request.stageAxis = plans.stageAxis;
  request.parts = options.microBatches;
  request.hasBackward = options.grad;
  request.clips = options.clip > 0;
  request.units = options.stageBound;
  return request;
}

/// Equal chunks are read once.
static llvm::Error readChunks(const StagePlans &plans, const CostModel &cost,
                              PipelineRequest &request) {
  std::map<const Plan *, ChunkWork> known;
  for (const StagePlan &chunk : plans.chunks) {
    auto [place, isNew] = known.try_emplace(chunk.plan.get());
    if (isNew) {
      auto work = chunkWork(*chunk.plan, cost, {chunk.received, chunk.sent},
                            request.parts);
      if (!work)
        return work.takeError();
      place->second = std::move(*work);
    }
    request.chunks.push_back({place->second, chunk.arguments});
  }
  return llvm::Error::success();
}

static void addUse(const Hardware &hardware, StagesReport &report) {
  int64_t ranks = 1, most = 0, all = 0;
  for (const MeshAxis &axis : report.plans.mesh)
    ranks *= axis.size;
  for (const StageUse &stage : report.step.stages) {
    most = std::max(most, stage.peak);
    all += stage.peak * (ranks / int64_t(report.step.stages.size()));
  }
  report.memoryBytes = hardware.memoryBytes;
  report.neededBytes = hardware.isCpu() ? all : most;
  const StagePlan &first = report.plans.chunks.front();
  int64_t dtype = TPSP_RT_F32;
  for (const PlanCommand &command : first.plan->commands)
    if (command.kind == CommandKind::Matmul)
      dtype = command.dtype;
  const MatmulRates *rates = matmulRatesOf(hardware, dtype);
  double peak = !rates ? 0
                : hardware.isCpu()
                    ? rates->peak * hardware.cores / double(ranks)
                    : rates->peak;
  if (peak > 0 && report.step.seconds > 0)
    report.matmulUtilisation = report.step.flops /
                               double(report.step.stages.size()) / peak /
                               report.step.seconds;
}

static llvm::Error predictStages(const Options &options,
                                 const Hardware &hardware,
                                 StagesReport &report) {
  if (std::string misfit = misfitOf(hardware, Mesh(report.plans.mesh));
      !misfit.empty())
    return llvm::createStringError(misfit);
  CostModel cost(hardware, Mesh(report.plans.mesh), options.threads);
  PipelineRequest request = requestOf(options, report.plans);
  if (llvm::Error error = readChunks(report.plans, cost, request))
    return error;
  auto step =
      simulatePipeline(request, *findPolicy(options.stageSchedule), cost);
  if (!step)
    return step.takeError();
  report.step = std::move(*step);
  addUse(hardware, report);
  return llvm::Error::success();
}

bool tpsp::run::dividesLayers(const Options &options) {
  Compilation compilation(options, {}, /*speaks=*/false);
  return hasStages(compilation.mlirContext(), options.model, options);
}

rt::Status tpsp::run::simulateStages(const Options &options, bool speaks,
                                     Progress &progress, StagesOutput &output) {
  auto begin = std::chrono::steady_clock::now();
  CompileUse use;
  use.isSimulated = true;
  Compilation compilation(options, use, speaks);
  llvm::Expected<const Hardware &> hardware = options.hardware.read();
  if (!hardware)
    return compilation.failure(hardware.takeError());
  StageRequest request;
  request.compile = resolved(options, use);
  request.chunksPerStage = options.stageChunks;
  if (llvm::Error error = readLayers(options, request.layers))
    return compilation.failure(std::move(error));
  auto plans = compileStages(compilation.mlirContext(), options.model, request,
                             [&](llvm::StringRef phase) {
                               progress.phase("compiling: " + phase.str());
                             });
  if (!plans)
    return compilation.failure(plans.takeError());
  StagesReport report;
  report.plans = std::move(*plans);
  report.program = options.model;
  report.hardware = hardware->name;
  report.schedule = options.stageSchedule;
  report.compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  if (llvm::Error error = predictStages(options, *hardware, report))
    return compilation.failure(std::move(error));
  output = {toText(report), toJson(report), traceOf(report),
            report.step.seconds, report.neededBytes};
  return {};
}
