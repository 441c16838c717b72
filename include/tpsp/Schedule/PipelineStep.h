/// Predicts a whole step of a program whose layers are divided over stages. The
/// micro-batches' commands are scheduled with the durations of the chunks'
/// plans, and sends with those of the links between stages. Work that is done
/// once a step follows.
#ifndef TPSP_SCHEDULE_PIPELINESTEP_H
#define TPSP_SCHEDULE_PIPELINESTEP_H

#include "tpsp/Abi/StepTrace.h"
#include "tpsp/Schedule/ChunkWork.h"
#include "tpsp/Schedule/StageActions.h"

namespace tpsp {

struct PipelineChunk {
  ChunkWork work;
  /// For each argument of the chunk's plan, its number in the program; -1 if it
  /// is received.
  std::vector<int64_t> arguments;
};

struct PipelineRequest {
  /// In the order of their layers.
  std::vector<PipelineChunk> chunks;
  /// The axis of the cost model's mesh that divides layers.
  AxisId stageAxis = 0;
  int64_t parts = 1;
  bool hasBackward = false;
  /// Whether gradients are clipped: all stages must know the norm of all
  /// gradients before any stage updates.
  bool clips = false;
  /// Whether gradients are reduced under the last micro-batch's backward pass.
  /// If weights' gradients are commands of their own, every chunk does so.
  /// Else the first chunk does, for all chunks of its stage. False if
  /// `reducing` of the chunks says it already.
  bool hidesReductions = false;
  /// The bound on units, if it is not the policy's; 0: the policy's.
  int64_t units = 0;
};

/// A parameter of several stages: its gradient is the sum of theirs.
struct TiedParameter {
  /// The argument's number in the program.
  int64_t argument = 0;
  std::vector<int64_t> stages;
  /// Bytes of the gradient on one rank, and bytes that the ring algorithm
  /// sends.
  int64_t bytes = 0, bytesSent = 0;
  double seconds = 0;
};

/// The use of one rank of a stage. All ranks of the stage do the same.
struct StageUse {
  /// Seconds of computing micro-batches, of reductions of gradients after them,
  /// and of the update, including these.
  double computing = 0, reductions = 0, update = 0;
  /// Seconds idle only because a tensor is still being sent.
  double waitingForSends = 0;
  /// The share of the time before the last micro-batch's end in which it
  /// computes nothing.
  double bubble = 0;
  /// The moments, in seconds, at which its last micro-batch and its update end.
  double computed = 0, ended = 0;
  /// The moment at which the update begins after the reductions. It may wait
  /// for other stages.
  double updateBegin() const { return ended - (update - reductions); }
  /// The most units that it has saved at once.
  int64_t units = 0;

  /// Bytes of a rank.
  int64_t parameters = 0, gradients = 0, state = 0, inputs = 0;
  /// The most bytes saved for backward passes.
  int64_t saved = 0;
  /// The most bytes in use at once, including other live buffers, and the bytes
  /// over time.
  int64_t peak = 0;
  std::vector<TraceSample> memory;
};

struct PipelineStep {
  PipelineProblem problem;
  PipelineSchedule schedule;
  double seconds = 0;
  /// For each chunk, the bytes that a rank sends for a micro-batch: to the next
  /// chunk, and to the previous chunk.
  std::vector<int64_t> sentForward, sentBackward;
  /// FLOP of all stages' representative ranks.
  double flops = 0;
  /// The average bubble of the stages.
  double bubble = 0;
  std::vector<StageUse> stages;
  std::vector<TiedParameter> tied;
};

/// Fails with a sentence if the policy's bound cannot hold one micro-batch.
llvm::Expected<PipelineStep> simulatePipeline(const PipelineRequest &request,
                                              const StageSchedule &schedule,
                                              const CostModel &cost);

} // namespace tpsp

#endif // TPSP_SCHEDULE_PIPELINESTEP_H
