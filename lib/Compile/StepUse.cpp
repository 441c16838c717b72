#include "StepUse.h"

#include "llvm/ADT/StringExtras.h"

using namespace tpsp;
using namespace tpsp::planner;

/// "all_gather over fsdp".
static std::string partOf(const LedgerRow &row) {
  return row.kind + " over " + llvm::join(row.axes, ", ");
}

/// What the step's time is made of.
static void addParts(const tpsp::Plan &plan, const SimulatedStep &step,
                     double times, Evaluation &out) {
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const PlanCommand &command = plan.commands[i];
    if (command.isEvent() || command.kind == CommandKind::Collective)
      continue;
    const char *kind = command.kind == CommandKind::Matmul      ? "products"
                       : command.kind == CommandKind::Attention ? "attention"
                       : command.kind == CommandKind::Kernel    ? "kernels"
                                                                : "copies";
    out.parts[kind] += times * step.commands[i].seconds();
  }
  std::map<std::string, double> longest;
  for (size_t i = 0; i < plan.ledger.size(); ++i) {
    const LedgerRow &row = plan.ledger[i];
    std::string part = partOf(row);
    double exposed = times * step.exposure.collectives[i].exposed;
    out.parts[part] += exposed;
    if (exposed > longest[part] || out.tensors[part].empty()) {
      longest[part] = exposed;
      out.tensors[part] = row.tensor;
    }
  }
}

/// How long each stream is busy, each command at what it takes alone.
static void addBusy(const tpsp::Plan &plan, const CostModel &cost, double times,
                    Evaluation &out) {
  for (const PlanCommand &command : plan.commands) {
    if (command.isEvent())
      continue;
    CommandCost alone = cost.cost(command);
    double seconds = times * alone.seconds;
    int64_t row =
        command.kind == CommandKind::Collective ? command.collective.row : -1;
    if (command.computes()) {
      out.computing += seconds;
      out.slowedComputing += times * alone.slowedSeconds(cost.slowdown());
    } else if (row >= 0) {
      out.links[llvm::join(plan.ledger[row].axes, ", ")] += seconds;
    }
  }
  out.slowdown = cost.slowdown();
}

void tpsp::addUse(const tpsp::Plan &plan, const SimulatedStep &step,
                  const CostModel &cost, double times, Evaluation &out) {
  out.exposed += times * step.exposure.exposed;
  out.communication += times * step.exposure.communication;
  addParts(plan, step, times, out);
  addBusy(plan, cost, times, out);
}
