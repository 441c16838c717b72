// tpsp-order-segments: says in which order each stage issues its segments.
#include "Passes/Program/MachineOptions.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/StageOrder.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/IR/BuiltinOps.h"

namespace tpsp {
#define GEN_PASS_DEF_ORDERSEGMENTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

struct OrderSegments
    : public WithOptions<
          tpsp::impl::OrderSegmentsBase<OrderSegments>,
          &CompileOptions::stageSchedule, &CompileOptions::stageActions,
          &CompileOptions::stagePlacement, &CompileOptions::stageBound,
          &CompileOptions::gatherWeights, &CompileOptions::hardware,
          &CompileOptions::threads> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (program.getStageAxis() && failed(order(program)))
        return signalPassFailure();
  }

private:
  LogicalResult order(plan::ProgramOp program) {
    const CompileOptions &given = options();
    const Hardware *machine = MachineOptions{getOperation(), getArgument(),
                                             given.hardware, given.threads}
                                  .read();
    if (!machine)
      return failure();
    FailureOr<CostModel> cost =
        costsOn(*machine, meshOf(program), given.threads, program);
    if (failed(cost))
      return failure();
    auto schedule = StageSchedule::read(given.stageSchedule, given.stageActions,
                                        given.stagePlacement);
    if (!schedule)
      return emitErrorAt(program) << llvm::toString(schedule.takeError());
    warnLeftOut(program, *schedule);
    auto orders = orderStages(getChildAnalysis<PlanAnalysis>(program).plan,
                              *cost, *schedule, given.stageBound);
    if (!orders)
      return emitErrorAt(program) << llvm::toString(orders.takeError());
    write(program, *orders);
    return success();
  }

  void warnLeftOut(plan::ProgramOp program, const StageSchedule &schedule) {
    if (!schedule.actions)
      return;
    const StageActions &actions = *schedule.actions;
    bool gathersOnce = options().gatherWeights == "step";
    if (actions.gathers > 0 && !gathersOnce)
      emitWarning(program.getLoc())
          << actions.file << ": " << actions.gathers
          << " gathers are left out: each segment gathers its weights; to "
             "gather them once a step, give --gather-weights step";
    else if (actions.mostGathers > 1)
      emitWarning(program.getLoc())
          << actions.file << ": some chunk's weights are gathered "
          << actions.mostGathers
          << " times; here they are gathered once, and kept for the step";
    if (actions.leftOut > 0)
      emitWarning(program.getLoc())
          << actions.file << ": " << actions.leftOut
          << " reductions and waits are left out: the update reduces "
             "gradients, and waits follow from memory";
  }

  static void write(plan::ProgramOp program,
                    const std::vector<std::vector<StepAction>> &orders) {
    Builder b(program.getContext());
    SmallVector<Attribute> stages;
    for (const std::vector<StepAction> &order : orders) {
      SmallVector<int64_t> numbers;
      for (const StepAction &action : order)
        numbers.append({action.segment, action.microBatch});
      stages.push_back(b.getDenseI64ArrayAttr(numbers));
    }
    program.setOrderAttr(b.getArrayAttr(stages));
    program.setStreams(
        std::max(program.getStreams().value_or(1), uint64_t(numStageStreams)));
    size_t most = 0;
    for (const std::vector<StepAction> &order : orders)
      most = std::max(most, order.size());
    // Those of actions follow those within segments.
    program.setEvents(program.getEvents().value_or(0) + most);
  }
};

} // namespace
