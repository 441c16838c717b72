/// Scheduling the micro-batches of a step on pipeline stages: a problem that
/// can be checked, and a list scheduler that solves it. It uses plain numbers,
/// neither plans nor hardware.
///
/// Layers are cut into chunks, each on one stage (Abi/ChunkPlacement.h). A
/// micro-batch goes forward through all chunks in their order and backward
/// through them in reverse order. A stage computes one command at a time and,
/// meanwhile, sends one tensor at a time. It sends nothing between two chunks
/// of its own.
///
/// The values that a chunk saves of one micro-batch are a *unit* of memory. The
/// forward command takes the unit, and it is free after the last command that
/// reads it. The bound on units determines the schedule. If all units have
/// room, all micro-batches may go forward first; p - i units on stage i give
/// 1F1B. Several chunks per stage interleave. Weights' gradients, for which
/// nobody waits, fill the bubble.
#ifndef TPSP_SCHEDULE_PIPELINEPROBLEM_H
#define TPSP_SCHEDULE_PIPELINEPROBLEM_H

#include "tpsp/Abi/ChunkPlacement.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

enum class PipelineWork {
  Forward,
  Backward,
  Weights,
  SendForward,
  SendBackward
};

struct PipelineProblem {
  /// Seconds that one micro-batch takes in a chunk, at least 0.
  struct Chunk {
    double forward = 0;
    /// The whole backward pass, in one command.
    double backward = 0;
    /// Its two parts, if they are commands of their own: the gradient that is
    /// sent, and the rest, for which nobody waits.
    double input = 0, weights = 0;
    /// Seconds to send the result to the next chunk, and the gradient to the
    /// previous chunk.
    double sendForward = 0, sendBackward = 0;
    /// How much longer its last command of the last micro-batch takes, which
    /// also reduces the gradients over ranks.
    double reducing = 0;
  };

  int64_t stages = 1, chunksPerStage = 1;
  /// Says the same as in ChunkPlacement.
  bool isFolded = false;
  /// Micro-batches of a step.
  int64_t parts = 1;
  /// stages * chunksPerStage of them.
  std::vector<Chunk> chunks;
  bool hasBackward = true;
  /// Whether `input` and `weights` are commands of their own.
  bool splitsWeights = false;
  /// Whether a stage begins no backward command before its last forward one.
  bool forwardFirst = false;
  /// For each stage, the most units that it may have saved; at least
  /// chunksPerStage.
  std::vector<int64_t> bound;

  int64_t stageOf(int64_t chunk) const {
    return ChunkPlacement{stages, isFolded}.stageOf(chunk);
  }
  /// In their order.
  std::vector<int64_t> chunksOf(int64_t stage) const;
  /// Whether a chunk's result, or gradient, is sent to another stage.
  bool sendsForward(int64_t chunk) const {
    return chunk + 1 < int64_t(chunks.size()) &&
           stageOf(chunk) != stageOf(chunk + 1);
  }
  bool sendsBackward(int64_t chunk) const {
    return chunk > 0 && stageOf(chunk) != stageOf(chunk - 1);
  }
  /// The units of a stage with 1F1B: enough that its next backward pass begins
  /// when its last forward pass has ended. If a fold gives the last chunk to
  /// the stage of the first one, all stages have the same number.
  int64_t unitsOf1f1b(int64_t stage) const {
    bool isBack = isFolded && chunksPerStage % 2 == 0;
    return chunksPerStage * stages - (isBack ? 0 : stage);
  }
  /// The work that a micro-batch ends with in a chunk.
  PipelineWork lastWork() const {
    return !hasBackward    ? PipelineWork::Forward
           : splitsWeights ? PipelineWork::Weights
                           : PipelineWork::Backward;
  }
  /// Seconds of a command.
  double secondsOf(PipelineWork work, int64_t chunk, int64_t part) const;
  /// Why the problem itself is invalid, as a sentence; nullopt if it is valid.
  std::optional<std::string> check() const;
};

struct PipelineCommand {
  PipelineWork work = PipelineWork::Forward;
  int64_t chunk = 0, part = 0;
  /// In seconds from the start of the step.
  double start = 0, end = 0;

  bool isSend() const {
    return work == PipelineWork::SendForward ||
           work == PipelineWork::SendBackward;
  }
};

/// The commands whose results a command reads, without times.
std::vector<PipelineCommand> readsOf(const PipelineProblem &problem,
                                     const PipelineCommand &command);

struct PipelineSchedule {
  /// Sorted by start.
  std::vector<PipelineCommand> commands;
  /// The end of the last command.
  double seconds = 0;
  /// For each stage, the most units that it has saved at once.
  std::vector<int64_t> saved;
};

/// The order in which ready commands start.
struct PipelineOrder {
  /// Forward commands before backward ones. Weights' gradients are last.
  bool prefersForward = false;
  /// The number of micro-batches that go through a chunk before the first of
  /// them goes through the stage's next chunk.
  int64_t group = 1;
  /// Whether forward commands, and backward commands, keep that order even if
  /// the stage idles.
  bool keepsOrder = false;
  /// Whether a backward command waits until the bound is reached, so that
  /// forward and backward commands alternate from then on.
  bool alternates = false;
  /// Whether at most v p - i forward passes of stage i wait for their backward
  /// pass, as with 1F1B. The other units then hold values for weights'
  /// gradients, which wait as long as these have room and backward passes are
  /// left. Weights' gradients in every idle moment would delay what arrives
  /// meanwhile.
  /// With one chunk and p units this is ZB-H1, whose bubble is
  /// (p - 1)(F + B - W) (Qi et al., "Zero Bubble Pipeline Parallelism", 2024).
  bool fewInFlight = false;
};

/// List scheduling (Graham 1966): whenever a stage is idle, it starts the first
/// ready command by `order` for which the bound has room. A unit is given only
/// if all micro-batches that have begun can still go forward, the oldest first.
/// So they cannot wait for each other in a circle. Returns nullopt if keeping
/// the order leads to such a circle. Takes O(n log r) time for n commands of
/// which r are ready at once.
std::optional<PipelineSchedule> scheduleList(const PipelineProblem &problem,
                                             const PipelineOrder &order);

/// The fastest list schedule of a few orders; among equals, the schedule that
/// saves fewer units. check() must accept the problem. With room for all units,
/// it is no slower than all forward commands before all backward commands.
PipelineSchedule schedulePipeline(const PipelineProblem &problem);

/// A schedule by its usual name, as settings of the problem.
struct PipelinePolicy {
  const char *name;
  bool splitsWeights, forwardFirst;
  /// Units of stage i, for `problem`.
  int64_t (*bound)(const PipelineProblem &problem, int64_t stage);
};

/// gpipe, 1f1b (interleaved, if stages have several chunks) and zero-bubble.
const std::vector<PipelinePolicy> &pipelinePolicies();

/// Null if no policy has the name.
const PipelinePolicy *findPolicy(const std::string &name);

/// Applies the policy to the problem. `units`: replaces the policy's bound; 0:
/// keeps it.
void apply(const PipelinePolicy &policy, int64_t units,
           PipelineProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_PIPELINEPROBLEM_H
