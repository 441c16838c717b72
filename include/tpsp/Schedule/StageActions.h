/// A schedule of stages that somebody else made: a list of actions for each
/// stage, as torch.distributed.pipelining writes it to a CSV file.
///
///   0F0,0F1,,0B0,0B1      a row for each stage, in their order
///   ,1F0,1B0,1F1,1B1      chunk 1: forward and backward of micro-batch 0, ..
///
/// An action is a chunk's number, its work, and a micro-batch's number:
///
///   F                     the forward pass
///   B                     the whole backward pass
///   I, W                  its two parts: the sent gradient, and the rest
///   (0F1;1B0)OVERLAP_F_B  two actions that torch runs together; in this order
///   SEND_F, RECV_F        a send and a receive of activations
///   SEND_B, RECV_B        the same of their gradients
///   UNSHARD, RESHARD      a gather of the chunk's weights, and its end
///   REDUCE_GRAD, WAIT_..  left out
///
/// Without sends, each tensor is sent as soon as it is made. Gathers say only
/// whether weights are gathered once a step (--gather-weights). Actions that
/// are left out have no counterpart. The update reduces gradients, or with
/// overlap the last micro-batch does.
///
/// Empty cells only align rows. Source: `_Action` and `_load_csv` in
/// torch/distributed/pipelining/schedules.py.
#ifndef TPSP_SCHEDULE_STAGEACTIONS_H
#define TPSP_SCHEDULE_STAGEACTIONS_H

#include "tpsp/Schedule/PipelineProblem.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace tpsp {

struct StageAction {
  /// Forward, Backward, Weights, or a send. A receive is the send of the other
  /// side, with the chunk that sends.
  PipelineWork work = PipelineWork::Forward;
  int64_t chunk = 0, part = 0;
  bool isReceive = false;
  /// Whether Backward is the part alone that a sent gradient needs.
  bool isInput = false;
  /// The number of the cell in its row, from 1.
  int64_t cell = 0;
};

struct StageActions {
  /// The file, for messages.
  std::string file;
  /// In their order, by stage.
  std::vector<std::vector<StageAction>> stages;
  /// Whether weights' gradients are actions of their own.
  bool splitsWeights = false;
  /// Whether the file says when tensors are sent and received.
  bool hasTransfers = false;
  /// How many gathers there are, and how often the chunk is gathered that is
  /// gathered most often.
  int64_t gathers = 0, mostGathers = 0;
  /// How many reductions and waits were left out.
  int64_t leftOut = 0;
};

/// Fails with a sentence that names the row and the cell.
llvm::Expected<StageActions> parseStageActions(const std::string &text,
                                               const std::string &file);
llvm::Expected<StageActions> readStageActions(const std::string &file);

/// "2F0". A whole backward pass is "I" if its other part is an action, too.
std::string textOf(const StageAction &action, bool splitsWeights);

/// The actions of a schedule, without transfers and without a file.
StageActions actionsOf(const PipelineProblem &problem,
                       const PipelineSchedule &schedule);

/// The actions of a schedule in the form above. They have no transfers: torch
/// derives these.
std::string toCsv(const PipelineProblem &problem,
                  const PipelineSchedule &schedule);

/// The schedule that has these actions in this order. Each begins as early as
/// the actions before it on its stage, and the tensors that it needs, allow.
/// Fails with a sentence
///
/// - if the actions are not those of the problem: of a chunk on another stage,
///   twice, or missing, so that a gradient would be lost;
/// - if they wait for each other;
/// - if a stage saves more units than the problem's bound.
///
/// `problem.splitsWeights` must be that of the actions. Takes time linear in
/// the actions times the stages.
llvm::Expected<PipelineSchedule> scheduleActions(const PipelineProblem &problem,
                                                 const StageActions &actions);

/// How stages order their micro-batches: by a policy, or by given actions.
struct StageSchedule {
  PipelinePolicy policy;
  std::optional<StageActions> actions;
  /// Says the same as in ChunkPlacement.
  bool isFolded = false;

  StageSchedule(const PipelinePolicy &policy) : policy(policy) {}
  /// The policy of this name; if a file is named, its actions instead.
  /// `placement` is "cyclic" or "folded". Fails as readStageActions() does.
  static llvm::Expected<StageSchedule> read(const std::string &policy,
                                            const std::string &file,
                                            const std::string &placement);
  /// Whether the last micro-batch is the last one to end in every chunk.
  bool endsWithLast() const;
  /// Schedules a problem to which the policy has been applied. Fails as
  /// scheduleActions() does.
  llvm::Expected<PipelineSchedule> of(const PipelineProblem &problem) const;
};

} // namespace tpsp

#endif // TPSP_SCHEDULE_STAGEACTIONS_H
