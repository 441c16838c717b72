#include "StageEvaluation.h"

#include "llvm/ADT/STLExtras.h"

using namespace tpsp;
using namespace tpsp::planner;

namespace {

/// Converts a simulation to an evaluation.
class StageFindings {
public:
  StageFindings(const SimulatedStages &stages, int64_t parts)
      : isComposed(!stages.isWhole), plans(stages.plans),
        simulation(stages.simulation), step(simulation.step), parts(parts) {}

  void fill(Evaluation &out) const {
    out.seconds = step.seconds;
    out.bubble = step.bubble;
    addTime(out);
    addMemory(out);
  }

private:
  /// Visits the chunks of a stage.
  template <typename Visit>
  void forChunksOf(size_t stage, Visit &&visit) const {
    for (int64_t chunk : step.problem.chunksOf(int64_t(stage)))
      visit(size_t(chunk));
  }

  size_t busiest() const {
    auto busy = [](const StageUse &use) { return use.computing + use.update; };
    return size_t(llvm::max_element(step.stages,
                                    [&](const auto &a, const auto &b) {
                                      return busy(a) < busy(b);
                                    }) -
                  step.stages.begin());
  }

  size_t largest() const {
    return size_t(llvm::max_element(step.stages,
                                    [](const auto &a, const auto &b) {
                                      return a.peak < b.peak;
                                    }) -
                  step.stages.begin());
  }

  void addTime(Evaluation &out) const {
    size_t stage = busiest();
    const StageUse &use = step.stages[stage];
    double sending = 0;
    forChunksOf(stage, [&](size_t chunk) {
      addDifference(out, Evaluation(), simulation.uses[chunk].step, 1);
      const PipelineProblem::Chunk &of = step.problem.chunks[chunk];
      sending += double(parts) * (of.sendForward + of.sendBackward);
    });
    out.isComposed = isComposed; // also set by addDifference()
    std::string axis = plans.mesh[plans.stageAxis].name;
    out.computing = leastComputing();
    out.links["sends over " + axis] += sending;
    out.communication += sending;
    out.exposed += use.waitingForSends;
    out.parts["permute over " + axis] += use.waitingForSends;
    out.parts["bubble"] = std::max(0.0, step.seconds - use.computing -
                                            use.update - use.waitingForSends);
  }

  /// The least seconds of computing: a stage works after the first micro-batch
  /// has reached it, and before the last one is on its way back. If weights'
  /// gradients come last, nothing waits for the way back.
  double leastComputing() const {
    double least = 0, before = 0;
    for (size_t stage = 0; stage < step.stages.size(); ++stage) {
      double own = 0;
      forChunksOf(stage, [&](size_t chunk) {
        own += simulation.uses[chunk].step.computing;
      });
      least = std::max(least, before + own);
      if (!step.problem.splitsWeights)
        before += simulation.uses[stage].computing;
    }
    return least;
  }

  void addMemory(Evaluation &out) const {
    size_t stage = largest();
    const StageUse &use = step.stages[stage];
    MemoryBill &bill = out.memory;
    bill.parameters = use.parameters;
    bill.gradients = bill.mostGradients = use.gradients;
    bill.state = use.state;
    bill.inputs = use.inputs;
    bill.saved = use.saved;
    bill.total = use.peak;
    bill.activations = std::max<int64_t>(
        0, use.peak - use.parameters - use.gradients - use.state - use.inputs);
    forChunksOf(stage, [&](size_t chunk) {
      for (const PlanBuffer &buffer : plans.chunks[chunk].plan->buffers)
        out.largest.push_back({buffer.name, buffer.bytes});
    });
    llvm::stable_sort(out.largest,
                      [](const NamedBytes &a, const NamedBytes &b) {
                        return a.bytes > b.bytes;
                      });
    out.largest.resize(std::min<size_t>(out.largest.size(), 3));
  }

  const bool isComposed;
  const StagePlans &plans;
  const StageSimulation &simulation;
  const PipelineStep &step;
  const int64_t parts;
};

} // namespace

llvm::Expected<SimulatedStages>
tpsp::simulateCandidate(mlir::OwningOpRef<mlir::ModuleOp> placed,
                        llvm::StringRef path, const StageRequest &request,
                        const Hardware &hardware, const Candidate &candidate) {
  StageScheduling scheduling;
  scheduling.schedule = candidate.settings.schedule;
  StageRequest chunked = request;
  chunked.chunksPerStage = candidate.settings.chunks;
  return compileAndSimulateStages(std::move(placed), path, chunked, scheduling,
                                  hardware, [](llvm::StringRef) {});
}

llvm::Error tpsp::evaluateStages(mlir::OwningOpRef<mlir::ModuleOp> placed,
                                 llvm::StringRef path,
                                 const StageRequest &request,
                                 const Hardware &hardware, Evaluation &out) {
  auto stages = simulateCandidate(std::move(placed), path, request, hardware,
                                  out.candidate);
  if (!stages)
    return stages.takeError();
  StageFindings(*stages, request.compile.microBatches).fill(out);
  return llvm::Error::success();
}
