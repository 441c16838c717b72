#include "StepUse.h"

#include "llvm/ADT/StringExtras.h"

using namespace tpsp;
using namespace tpsp::planner;

/// "all_gather over fsdp".
static std::string partOf(const LedgerRow &row) {
  return std::string(nameOf(row.kind)) + " over " + llvm::join(row.axes, ", ");
}

/// Adds the parts of the step's time.
static void addParts(const tpsp::Plan &plan, const SimulatedStep &step,
                     double times, Evaluation &out) {
  for (const TraceSpan &span : step.commands) {
    const PlanCommand &command = plan.commands[span.command];
    if (command.isEvent() || command.kind == CommandKind::Collective)
      continue;
    const char *kind = command.kind == CommandKind::Matmul      ? "products"
                       : command.kind == CommandKind::Attention ? "attention"
                       : command.kind == CommandKind::Kernel    ? "kernels"
                                                                : "copies";
    out.parts[kind] += times * span.seconds();
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

/// The least cost of a command. A product that overlap cuts with its collective
/// may be a little faster in pieces, so pieces are tried, too.
static CommandCost leastCost(const PlanCommand &command,
                             const CostModel &cost) {
  CommandCost least = cost.cost(command);
  if (command.kind != CommandKind::Matmul)
    return least;
  for (int64_t pieces : {2, 4, 8})
    for (int64_t MatmulWork::*dim : {&MatmulWork::m, &MatmulWork::n}) {
      MatmulWork piece = command.matmul;
      piece.*dim = std::max<int64_t>(piece.*dim / pieces, 1);
      piece.epilogue *= 1 / double(pieces);
      CommandCost each = cost.matmulCost(piece, command.dtype);
      if (double(pieces) * each.seconds >= least.seconds)
        continue;
      least = each;
      for (double CommandCost::*part :
           {&CommandCost::seconds, &CommandCost::startSeconds,
            &CommandCost::unitSeconds, &CommandCost::memorySeconds})
        least.*part *= double(pieces);
    }
  return least;
}

/// Adds the busy time of each stream, with each command's time alone.
static void addBusy(const tpsp::Plan &plan, const CostModel &cost, double times,
                    Evaluation &out) {
  for (const PlanCommand &command : plan.commands) {
    if (command.isEvent())
      continue;
    CommandCost alone = leastCost(command, cost);
    double runs = times * double(plan.timesOf(command));
    double seconds = runs * alone.seconds;
    if (command.computes()) {
      out.computing += seconds;
      out.slowedComputing += runs * alone.slowedSeconds(cost.slowdown());
    } else {
      out.links["collectives over " + cost.linksOf(command.collective.axes)] +=
          seconds;
    }
  }
  out.slowdown = cost.slowdown();
}

/// Adds the time in which a GPU's stream 0 waits, and not for communication.
static void addHost(const tpsp::Plan &plan, const SimulatedStep &step,
                    double times, Evaluation &out) {
  double busy = step.exposure.exposed;
  for (const TraceSpan &span : step.commands)
    if (plan.commands[span.command].computes())
      busy += span.seconds();
  // Rounding leaves less.
  if (double rest = step.seconds - busy; rest > 1e-6 * step.seconds)
    out.parts[hostPart] += times * rest;
}

void tpsp::addUse(const tpsp::Plan &plan, const SimulatedStep &step,
                  const CostModel &cost, double times, Evaluation &out) {
  out.exposed += times * step.exposure.exposed;
  out.communication += times * step.exposure.communication;
  addParts(plan, step, times, out);
  if (!cost.machine().isCpu())
    addHost(plan, step, times, out);
  addBusy(plan, cost, times, out);
}
