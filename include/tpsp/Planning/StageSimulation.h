/// From a model to a step of its stages' pipeline, simulated.
#ifndef TPSP_PLANNING_STAGESIMULATION_H
#define TPSP_PLANNING_STAGESIMULATION_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planning/StagePlans.h"
#include "tpsp/Schedule/PipelineStep.h"

namespace tpsp {

struct StageScheduling {
  /// Of pipelinePolicies().
  std::string schedule = "1f1b";
  /// As PipelineRequest::units.
  int64_t units = 0;
};

/// What the time of one rank of a chunk goes to.
struct ChunkUse {
  /// Over a step: parts, communication, and how long each stream is busy.
  planner::Evaluation step;
  /// How long it computes of one micro-batch.
  double computing = 0;
};

struct StageSimulation {
  PipelineStep step;
  /// Of each chunk.
  std::vector<ChunkUse> uses;
};

/// Of what `compile` compiled. Layers that a chunk leaves out take what
/// StagePlans::deeper says. Fails with a sentence if the machine is too small
/// for the mesh, or the bound for one micro-batch.
llvm::Expected<StageSimulation>
simulateStages(const StagePlans &plans, const CompileOptions &compile,
               const StageScheduling &scheduling, const Hardware &hardware);

/// What was compiled, and what it takes.
struct SimulatedStages {
  StagePlans plans;
  StageSimulation simulation;
  /// What the plans have, which is "off" also where overlap is slower.
  std::string overlap;
};

/// Compiles the model's chunks and simulates their pipeline. Each segment of a
/// chunk is scheduled for itself, and together they may be slower than without
/// overlap: then they are compiled without. Likewise without what options say
/// "time" of (withoutTimedOptions()). Fails as compileStages() and
/// simulateStages() do.
llvm::Expected<SimulatedStages> compileAndSimulateStages(
    mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress);

/// The same for a model's file. Fails also where checkMicroBatches() does.
llvm::Expected<SimulatedStages> compileAndSimulateStages(
    mlir::MLIRContext &context, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGESIMULATION_H
