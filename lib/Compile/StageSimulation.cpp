#include "tpsp/Compile/StageSimulation.h"

#include "StepUse.h"

using namespace tpsp;

namespace {

struct ReadChunk {
  ChunkWork work;
  ChunkUse use;
};

/// Equal chunks are read once.
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
    // The last chunk may compute what others do, and send nothing.
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
    result.use.step.parts["copies"] += double(parts) * result.work.sums;
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
  auto step = simulatePipeline(request, *findPolicy(scheduling.schedule), cost);
  if (!step)
    return step.takeError();
  result.step = std::move(*step);
  return result;
}
