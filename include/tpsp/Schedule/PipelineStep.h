/// Predicts a whole step of a program whose layers are divided over stages. The
/// micro-batches' commands are scheduled with the durations of the chunks'
/// plans, sends on the links between stages. Then comes what is done once a
/// step.
#ifndef TPSP_SCHEDULE_PIPELINESTEP_H
#define TPSP_SCHEDULE_PIPELINESTEP_H

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Schedule/ChunkWork.h"
#include "tpsp/Schedule/PipelineProblem.h"

namespace tpsp {

struct PipelineChunk {
  ChunkWork work;
  /// For each argument of the chunk's plan its number in the program; -1: it is
  /// received.
  std::vector<int64_t> arguments;
};

struct PipelineRequest {
  /// Chunk c is of stage c mod the size of the stage axis.
  std::vector<PipelineChunk> chunks;
  /// The axis of the cost model's mesh that divides layers.
  AxisId stageAxis = 0;
  int64_t parts = 1;
  bool hasBackward = false;
  /// Whether all stages know the norm of all gradients before any updates.
  bool clips = false;
  /// Units instead of the policy's bound; 0: the policy's.
  int64_t units = 0;
};

/// A parameter of several stages: its gradient is the sum of theirs.
struct TiedParameter {
  /// Of the program.
  int64_t argument = 0;
  std::vector<int64_t> stages;
  /// Of the gradient on one rank, and what the ring algorithm sends of it.
  int64_t bytes = 0, bytesSent = 0;
  double seconds = 0;
};

/// One rank of a stage; all others of the stage do the same.
struct StageUse {
  /// Computing micro-batches; the update, reductions of gradients included.
  double computing = 0, update = 0;
  /// Idle only because something is still on its way.
  double waitingForSends = 0;
  /// The share of the time before the last micro-batch's end in which it
  /// computes nothing.
  double bubble = 0;
  /// When its last micro-batch, and when its update has ended.
  double computed = 0, ended = 0;
  /// The most chunks' micro-batches that it has saved at once.
  int64_t units = 0;

  /// Bytes of a rank.
  int64_t parameters = 0, gradients = 0, state = 0, inputs = 0;
  /// Saved for backward passes, at the most.
  int64_t saved = 0;
  /// All of these and what else is alive, at the worst moment; and its curve.
  int64_t peak = 0;
  std::vector<TraceSample> memory;
};

struct PipelineStep {
  PipelineProblem problem;
  PipelineSchedule schedule;
  double seconds = 0;
  /// For each chunk what it sends of a micro-batch, in bytes of a rank: to the
  /// next one, and to the one before.
  std::vector<int64_t> sentForward, sentBackward;
  /// FLOP of all stages' representative ranks.
  double flops = 0;
  /// Over all stages, the bubbles' average.
  double bubble = 0;
  std::vector<StageUse> stages;
  std::vector<TiedParameter> tied;
};

/// Fails with a sentence if the policy's bound cannot hold one micro-batch.
llvm::Expected<PipelineStep> simulatePipeline(const PipelineRequest &request,
                                              const PipelinePolicy &policy,
                                              const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_PIPELINESTEP_H
