/// Simulates a step of a model's pipeline of stages.
#ifndef TPSP_PLANNING_STAGESIMULATION_H
#define TPSP_PLANNING_STAGESIMULATION_H

#include "tpsp/Planner/Evaluation.h"
#include "tpsp/Planning/StagePlans.h"
#include "tpsp/Schedule/PipelineStep.h"

namespace tpsp {

struct StageScheduling {
  /// A name of pipelinePolicies().
  std::string schedule = "1f1b";
  /// As PipelineRequest::units.
  int64_t units = 0;
  /// A file of actions in place of the policy; empty for none.
  std::string actions = {};
  /// "cyclic" or "folded", as in Abi/ChunkPlacement.h.
  std::string placement = "cyclic";
};

/// The use of time of one rank of a chunk.
struct ChunkUse {
  /// Over a step: parts of the time, communication, and the busy time of each
  /// stream.
  planner::Evaluation step;
  /// Seconds of computing for one micro-batch.
  double computing = 0;
};

struct StageSimulation {
  /// The request that was simulated, with the work of each chunk.
  PipelineRequest request;
  PipelineStep step;
  /// The use of each chunk.
  std::vector<ChunkUse> uses;
};

/// Simulates plans that were compiled with `compile`. StagePlans::deeper gives
/// the cost of layers that a chunk leaves out. Fails with a sentence if the
/// machine is too small for the mesh, or the bound on units too small for one
/// micro-batch.
llvm::Expected<StageSimulation>
simulateStages(const StagePlans &plans, const CompileOptions &compile,
               const StageScheduling &scheduling, const Hardware &hardware);

/// Compiled stages and their simulation.
struct SimulatedStages {
  StagePlans plans;
  StageSimulation simulation;
  /// The overlap of the plans: "off" also if overlap would be slower.
  std::string overlap;
  /// Whether the whole step was compiled, too.
  bool isWhole = false;
};

/// Compiles the model's chunks and simulates their pipeline. Each segment of a
/// chunk is scheduled by itself. Together the segments may be slower than
/// without overlap; then the plans without overlap are kept. If overlapped
/// stages do not fit, gradients are added by kernels, whose schedules may need
/// less memory, or else nothing is overlapped. Options that say
/// "time" are decided in the same way (withoutTimedOptions()). With
/// StageRequest::isWhole the step is compiled, too. The durations are then
/// those of its segments, and a stage's peak of memory is its arena. Fails as
/// compileStages() and simulateStages() do, or if the step does not compile.
llvm::Expected<SimulatedStages> compileAndSimulateStages(
    mlir::OwningOpRef<mlir::ModuleOp> module, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress);

/// The same for a model's file. Also fails if checkMicroBatches() does.
llvm::Expected<SimulatedStages> compileAndSimulateStages(
    mlir::MLIRContext &context, llvm::StringRef path,
    const StageRequest &request, const StageScheduling &scheduling,
    const Hardware &hardware, const CompileProgress &progress);

} // namespace tpsp

#endif // TPSP_PLANNING_STAGESIMULATION_H
