// tpsp-check-schedule: proves that every command reads what it is meant to
// read.
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/IssueOrder.h"
#include "tpsp/Schedule/ScheduleProof.h"
#include "tpsp/Schedule/StageProof.h"
#include "tpsp/Schedule/StageSteps.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_CHECKSCHEDULE
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Reports a fault at its command or buffer.
LogicalResult emitFault(plan::ProgramOp program, const StepFault &fault) {
  SmallVector<Operation *> commands = commandsOf(program);
  auto buffers =
      llvm::to_vector(program.getBody().front().getOps<plan::BufferOp>());
  Operation *at = program;
  if (fault.buffer >= 0)
    at = buffers[fault.buffer];
  if (fault.command >= 0)
    at = commands[fault.command];
  InFlightDiagnostic diag = emitErrorAt(at);
  diag << fault.message;
  if (fault.otherCommand >= 0)
    diag.attachNote(commands[fault.otherCommand]->getLoc())
        << "the other command is here";
  if (fault.buffer >= 0 && fault.command >= 0)
    diag.attachNote(buffers[fault.buffer].getLoc())
        << "the buffer is made here";
  if (fault.otherBuffer >= 0)
    diag.attachNote(buffers[fault.otherBuffer].getLoc())
        << "the other is made here";
  return diag;
}

/// Tiles that are counted from the rank's own are proved for rank 0. They are
/// disjoint on all ranks or on none, as long as no tile of the same buffer is
/// counted otherwise.
LogicalResult checkTiles(plan::ProgramOp program) {
  llvm::DenseMap<Operation *, plan::TileOp> first;
  for (auto tile : program.getBody().front().getOps<plan::TileOp>()) {
    auto [known, isNew] =
        first.try_emplace(plan::bufferOf(tile.getResult()), tile);
    plan::TileOp other = known->second;
    if (isNew ||
        (other.getAxes() == tile.getAxes() &&
         (tile.getAxes().empty() || (other.getTiles() == tile.getTiles() &&
                                     other.getChunk() == tile.getChunk()))))
      continue;
    InFlightDiagnostic diag =
        emitErrorAt(tile.getOperation())
        << "is counted otherwise than another tile of its buffer: "
           "whether they overlap depends on the rank";
    diag.attachNote(other.getLoc()) << "the other tile";
    return diag;
  }
  return success();
}

/// The commands of a segment are issued together, so they stand together.
LogicalResult checkSegments(plan::ProgramOp program, const Plan &plan) {
  for (size_t i = 1; i < plan.commands.size(); ++i) {
    const PlanSegment &own = plan.segments[plan.commands[i].segment];
    const PlanSegment &before = plan.segments[plan.commands[i - 1].segment];
    if (&own >= &before)
      continue;
    StepFault fault;
    fault.command = int64_t(i);
    fault.otherCommand = int64_t(i) - 1;
    fault.message = "is of segment '" + own.name +
                    "', but follows a command of segment '" + before.name +
                    "', which comes later";
    return emitFault(program, fault);
  }
  return success();
}

struct CheckSchedule : public tpsp::impl::CheckScheduleBase<CheckSchedule> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (failed(check(program)))
        return signalPassFailure();
  }

  LogicalResult check(plan::ProgramOp program) {
    if (!program.getArenaBytes())
      return emitErrorAt(program)
             << "has no arena yet; run tpsp-allocate first";
    if (failed(checkTiles(program)))
      return failure();
    const Plan &plan = getChildAnalysis<PlanAnalysis>(program).plan;
    if (failed(checkSegments(program, plan)))
      return failure();
    if (plan.stageAxis >= 0)
      return checkStages(program, plan);
    if (plan.microBatches == 1) {
      std::optional<StepFault> fault = proveSchedule(plan);
      return fault ? emitFault(program, *fault) : success();
    }
    // Three stand for all: a first, a last, and one between.
    return prove(program,
                 writtenOut(plan, std::min<int64_t>(plan.microBatches, 3)));
  }

  /// Proves what ranks of each stage do, and that stages fit to each other.
  static LogicalResult checkStages(plan::ProgramOp program, const Plan &plan) {
    if (std::optional<std::string> fault = proveStages(plan))
      return emitErrorAt(program) << *fault;
    // As many as use every slot twice.
    int64_t most = 3;
    for (const PlanPool &pool : plan.pools)
      most = std::max(most, 2 * pool.slots + 1);
    StageSteps steps(plan, std::min(plan.microBatches, most));
    for (int64_t stage = 0; stage < plan.numStages(); ++stage)
      if (failed(prove(program, steps.of(stage))))
        return failure();
    return success();
  }

  static LogicalResult prove(plan::ProgramOp program,
                             const WrittenOutStep &step) {
    std::optional<StepFault> fault = proveSchedule(step.plan);
    if (!fault)
      return success();
    for (int64_t *command : {&fault->command, &fault->otherCommand})
      *command = *command < 0 ? -1 : step.commandOf[*command];
    for (int64_t *buffer : {&fault->buffer, &fault->otherBuffer})
      *buffer = *buffer < 0 ? -1 : step.bufferOf[*buffer];
    return emitFault(program, *fault);
  }
};

} // namespace
