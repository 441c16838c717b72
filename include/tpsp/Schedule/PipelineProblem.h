/// Scheduling the micro-batches of a step on pipeline stages, as a problem that
/// can be checked, and a list scheduler that solves it. Plain numbers: neither
/// plans nor hardware.
///
/// Layers are cut into chunks; chunk c is of stage c mod p. A micro-batch goes
/// forward through all chunks in their order and backward through them in the
/// reverse order. A stage computes one command at a time, and sends one thing
/// at a time, beside that.
///
/// What a chunk saves of a micro-batch is one unit of memory. It is taken by
/// the forward command, and free again behind the last command that reads it.
/// The bound on units makes the schedule. With as many as there are, all may go
/// forward first; p - i of them on stage i give 1F1B. Chunks interleave by
/// being several. Weights' gradients that nobody waits for fill the bubble.
#ifndef TPSP_SCHEDULE_PIPELINEPROBLEM_H
#define TPSP_SCHEDULE_PIPELINEPROBLEM_H

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
    /// Its two parts, where they are commands of their own: the gradient that
    /// is sent, and the rest, which nobody waits for.
    double input = 0, weights = 0;
    /// To send the result to the next chunk, and the gradient to the one
    /// before.
    double sendForward = 0, sendBackward = 0;
  };

  int64_t stages = 1, chunksPerStage = 1;
  /// Micro-batches of a step.
  int64_t parts = 1;
  /// stages * chunksPerStage of them.
  std::vector<Chunk> chunks;
  bool hasBackward = true;
  /// Whether `input` and `weights` are commands of their own.
  bool splitsWeights = false;
  /// Whether a stage begins no backward command before its last forward one.
  bool forwardFirst = false;
  /// For each stage, how many chunks' micro-batches it may have saved. At least
  /// chunksPerStage.
  std::vector<int64_t> bound;

  int64_t stageOf(int64_t chunk) const { return chunk % stages; }
  /// Seconds of a command.
  double secondsOf(PipelineWork work, int64_t chunk) const;
  /// What is wrong with the problem itself; nullopt if nothing is.
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

struct PipelineSchedule {
  /// By start.
  std::vector<PipelineCommand> commands;
  /// The end of the last command.
  double seconds = 0;
  /// For each stage, the most units that it has saved at once.
  std::vector<int64_t> saved;
};

/// Which ready command goes first.
struct PipelineOrder {
  /// Forward commands before backward ones. Weights' gradients are last.
  bool prefersForward = false;
  /// So many micro-batches go through a chunk before the first of them goes
  /// through the stage's next one.
  int64_t group = 1;
  /// Whether forward commands, and backward ones, keep that order even where it
  /// idles.
  bool keepsOrder = false;
  /// Whether a backward command waits until the bound is reached, so that the
  /// two alternate from then on.
  bool alternates = false;
};

/// List scheduling (Graham 1966): whenever a stage is idle, it starts the first
/// ready command by `order` that the bound has room for. A unit is given only
/// where all micro-batches that have begun can still go forward, the oldest
/// first. So none waits for another in a circle. Returns nullopt if an order
/// that is kept ends in such a circle. Time grows with the commands times the
/// logarithm of those that are ready.
std::optional<PipelineSchedule> scheduleList(const PipelineProblem &problem,
                                             const PipelineOrder &order);

/// The fastest list schedule of a few orders; of equals, the one that saves
/// less. The problem is one that check() accepts. With room for all units it
/// takes no longer than all forward commands before all backward ones.
PipelineSchedule schedulePipeline(const PipelineProblem &problem);

/// A schedule by its usual name: what the problem is told.
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

/// Sets what the policy says. `units`: the bound instead of the policy's; 0:
/// the policy's.
void apply(const PipelinePolicy &policy, int64_t units,
           PipelineProblem &problem);

} // namespace tpsp

#endif // TPSP_SCHEDULE_PIPELINEPROBLEM_H
