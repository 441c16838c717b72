/// From the plans of chunks to a step of their pipeline, simulated.
#ifndef TPSP_COMPILE_STAGESIMULATION_H
#define TPSP_COMPILE_STAGESIMULATION_H

#include "tpsp/Compile/StagePlans.h"
#include "tpsp/Planner/Evaluation.h"
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

} // namespace tpsp

#endif // TPSP_COMPILE_STAGESIMULATION_H
