// tpsp-overlap: collectives on streams of their own, under computation.
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/StepOfProgram.h"

#include "tpsp/Planner/OverlapSchedulers.h"
#include "tpsp/Planner/Simulator.h"
#include "tpsp/Planner/StepOverlap.h"
#include "tpsp/Planner/StreamIssue.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace tpsp {
#define GEN_PASS_DEF_OVERLAP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// The step as it will be issued.
static Step reordered(const Step &step, ArrayRef<IssueItem> items,
                      int64_t numStreams) {
  Step result;
  result.mesh = step.mesh;
  result.buffers = step.buffers;
  result.numStreams = numStreams;
  for (const IssueItem &item : items) {
    StepCommand &command = result.commands.emplace_back();
    if (item.kind == IssueItem::Run) {
      command = step.commands[item.number];
    } else {
      command.kind = item.kind == IssueItem::Record ? StepKind::EventRecord
                                                    : StepKind::EventWait;
      command.event = item.number;
      result.numEvents = std::max(result.numEvents, item.number + 1);
    }
    command.stream = item.stream;
  }
  return result;
}

/// Puts the program's commands into the order of `items`, with their events.
static void rewrite(plan::ProgramOp program, ArrayRef<IssueItem> items,
                    const Step &scheduled) {
  Block &body = program.getBody().front();
  SmallVector<Operation *> commands;
  for (Operation &op : body)
    if (isa<plan::CommandOpInterface>(op))
      commands.push_back(&op);
  OpBuilder b(program.getContext());
  // What is left in front: buffers, views, tiles.
  for (const IssueItem &item : items) {
    b.setInsertionPointToEnd(&body);
    if (item.kind == IssueItem::Run) {
      Operation *command = commands[item.number];
      command->moveBefore(&body, body.end());
      command->setAttr("stream", b.getI64IntegerAttr(item.stream));
      continue;
    }
    IntegerAttr event = b.getI64IntegerAttr(item.number);
    IntegerAttr stream = b.getI64IntegerAttr(item.stream);
    if (item.kind == IssueItem::Record)
      plan::EventRecordOp::create(b, program.getLoc(), event, stream);
    else
      plan::EventWaitOp::create(b, program.getLoc(), event, stream);
  }
  program.setStreams(scheduled.numStreams);
  program.setEvents(scheduled.numEvents);
}

static std::string milliseconds(double seconds) {
  return llvm::formatv("{0:f3} ms", seconds * 1e3).str();
}

namespace {

struct Overlap : public tpsp::impl::OverlapBase<Overlap> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<Hardware> machine = findHardware(hardware);
    if (!machine) {
      getOperation().emitError(llvm::toString(machine.takeError()));
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (failed(schedule(program, *machine)))
        return signalPassFailure();
  }

  LogicalResult schedule(plan::ProgramOp program, const Hardware &machine) {
    Step step = stepOf(program);
    if (step.numEvents > 0 || step.numStreams > 1)
      return program.emitError("is scheduled already: it has ")
             << step.numStreams << " streams and " << step.numEvents
             << " events";
    if (std::string misfit = misfitOf(machine, step.mesh); !misfit.empty())
      return program.emitError(misfit);
    CostModel cost(machine, step.mesh, threads);
    OverlapProblem problem = overlapProblemOf(step, cost, buffers);
    if (problem.numStreams == 1)
      return success(); // nothing communicates
    if (std::optional<std::string> wrong = problem.check())
      return program.emitError("cannot be scheduled: ") << *wrong;
    OverlapSchedule found = scheduleList(problem);
    if (std::optional<std::string> wrong = verify(problem, found))
      return program.emitError("was scheduled wrongly: ") << *wrong;
    std::vector<IssueItem> items = issueOf(problem, found);
    Step scheduled = reordered(step, items, problem.numStreams);
    return keepIfFaster(program, step, scheduled, items, cost);
  }

  /// The problem knows nothing of what commands that run at once do to each
  /// other; the simulator does.
  LogicalResult keepIfFaster(plan::ProgramOp program, const Step &step,
                             const Step &scheduled, ArrayRef<IssueItem> items,
                             const CostModel &cost) {
    llvm::Expected<SimulatedStep> before = simulate(step, cost);
    llvm::Expected<SimulatedStep> after = simulate(scheduled, cost);
    for (auto *result : {&before, &after})
      if (!*result)
        return program.emitError(llvm::toString(result->takeError()));
    if (after->seconds >= before->seconds) {
      remark::missed(
          program.getLoc(),
          remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
          << remark::reason("no schedule with communication under computation "
                            "is faster: {0} against {1} one after another",
                            milliseconds(after->seconds),
                            milliseconds(before->seconds));
      return success();
    }
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason(
               "a step takes {0} instead of {1}; {2} of {3} of communication "
               "are exposed",
               milliseconds(after->seconds), milliseconds(before->seconds),
               milliseconds(after->exposed),
               milliseconds(after->communication));
    rewrite(program, items, scheduled);
    return success();
  }
};

} // namespace
