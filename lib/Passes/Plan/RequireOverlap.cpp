// tpsp-require-overlap: requires overlap as a contract.
#include "Passes/Program/MachineOptions.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/ExposureCause.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FormatVariadic.h"

namespace tpsp {
#define GEN_PASS_DEF_REQUIREOVERLAP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

static std::string microseconds(double seconds) {
  return llvm::formatv("{0:f1} us", seconds * 1e6).str();
}

static std::string percent(double share) {
  return llvm::formatv("{0:f1} %", share * 100).str();
}

namespace {

class OverlapContract {
public:
  OverlapContract(plan::ProgramOp program, const Plan &plan,
                  const CostModel &cost)
      : program(program), cost(cost), plan(plan),
        commands(commandsOf(program)) {}

  /// Fails if less than `share` of the communication is hidden, or less than a
  /// collective's own requirement.
  LogicalResult check(double share) {
    llvm::Expected<SimulatedStep> result = simulate(plan, cost);
    if (!result)
      return emitErrorAt(program) << llvm::toString(result.takeError());
    simulated = std::move(*result);
    std::vector<ExposedCollective> exposures =
        exposedCollectives(plan, simulated);
    LogicalResult kept = success();
    if (simulated.exposure.hiddenShare() < share) {
      refuse(share, exposures);
      kept = failure();
    }
    for (const ExposedCollective &exposure : exposures)
      if (failed(checkOwn(exposure)))
        kept = failure();
    return kept;
  }

private:
  void refuse(double share, ArrayRef<ExposedCollective> exposures) {
    InFlightDiagnostic diag = emitErrorAt(program);
    diag << percent(simulated.exposure.hiddenShare())
         << " of the communication is hidden, less than the " << percent(share)
         << " that is required: " << microseconds(simulated.exposure.exposed)
         << " of " << microseconds(simulated.exposure.communication)
         << " are exposed on " << cost.machine().name;
    constexpr size_t most = 8;
    for (const ExposedCollective &exposure : exposures.take_front(most))
      if (exposure.times.exposed > 0)
        diag.attachNote(commands[exposure.command]->getLoc())
            << describe(exposure);
  }

  /// Checks the requirement of the operation that asked for the collective.
  LogicalResult checkOwn(const ExposedCollective &exposure) {
    Operation *command = commands[exposure.command];
    int64_t row = plan.commands[exposure.command].collective.row;
    std::optional<double> required;
    if (row >= 0)
      required = plan.ledger[row].overlap;
    if (!required || exposure.times.hiddenShare() >= *required)
      return success();
    return emitErrorAt(command)
           << percent(exposure.times.hiddenShare())
           << " of it is hidden, less than " << percent(*required)
           << ", which is required here: " << describe(exposure);
  }

  std::string nameOf(int64_t command) const {
    const PlanCommand &c = plan.commands[command];
    return c.location.empty() ? c.name() : c.name() + " at " + c.location;
  }

  /// "all_gather xn: 12.3 us of 45.6 us exposed; it begins when ... ends, which
  /// makes what it sends; ... waits for it".
  std::string describe(const ExposedCollective &exposure) const {
    std::string text = plan.commands[exposure.command].name() + ": " +
                       microseconds(exposure.times.exposed) + " of " +
                       microseconds(exposure.times.seconds) + " exposed; ";
    switch (exposure.cause) {
    case ExposureCause::Nothing:
      text += "it begins with the step";
      break;
    case ExposureCause::Dependence:
      text += "a dependence: it begins when " + nameOf(exposure.blocker) +
              " has made what it sends";
      break;
    case ExposureCause::Buffer:
      text += "a buffer: it begins when " + nameOf(exposure.blocker) +
              " needs its memory no more (more --overlap-memory)";
      break;
    case ExposureCause::Bandwidth:
      text += "bandwidth: it begins when " + nameOf(exposure.blocker) +
              " has left the links to it";
      break;
    }
    if (exposure.waiter >= 0)
      text += ", and " + nameOf(exposure.waiter) + " waits for it";
    return text;
  }

  plan::ProgramOp program;
  const CostModel &cost;
  const Plan &plan;
  SmallVector<Operation *> commands;
  SimulatedStep simulated;
};

struct RequireOverlap
    : public WithOptions<tpsp::impl::RequireOverlapBase<RequireOverlap>,
                         &CompileOptions::requireOverlap,
                         &CompileOptions::hardware, &CompileOptions::threads> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    const CompileOptions &given = options();
    const Hardware *machine = MachineOptions{getOperation(), getArgument(),
                                             given.hardware, given.threads}
                                  .read();
    if (!machine)
      return signalPassFailure();
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      if (failed(check(program, *machine)))
        return signalPassFailure();
  }

  LogicalResult check(plan::ProgramOp program, const Hardware &machine) {
    if (program.getStageAxis())
      return checkStages(program, getChildAnalysis<PlanAnalysis>(program).plan);
    Mesh mesh = meshOf(program);
    FailureOr<CostModel> cost =
        costsOn(machine, mesh, options().threads, program);
    if (failed(cost))
      return failure();
    return OverlapContract(program,
                           getChildAnalysis<PlanAnalysis>(program).plan, *cost)
        .check(options().requireOverlap);
  }

  /// A stage's step is the order of its segments, which no simulation of
  /// commands has.
  LogicalResult checkStages(plan::ProgramOp program, const Plan &plan) {
    bool isRequired = options().requireOverlap > 0 ||
                      llvm::any_of(plan.ledger, [](const LedgerRow &row) {
                        return bool(row.overlap);
                      });
    if (!isRequired)
      return success();
    return emitErrorAt(program)
           << "has stages, and the share of communication that is hidden is "
              "not known for them; leave out --require-overlap and "
              "tpsp.overlap";
  }
};

} // namespace
