#include "Simulate.h"

#include "Compile.h"

#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/MemoryUse.h"
#include "tpsp/Schedule/Simulator.h"

#include <algorithm>
#include <utility>

using namespace tpsp;
using namespace tpsp::tool;

static std::string kindName(const PlanCommand &command) {
  return command.kind == CommandKind::Collective
             ? nameOf(command.collective.kind)
             : nameOf(command.kind);
}

static std::vector<rt::Prediction::Kind>
kindsOf(const Plan &plan, const SimulatedStep &simulated) {
  std::vector<rt::Prediction::Kind> kinds;
  for (const TraceSpan &span : simulated.commands) {
    const PlanCommand &command = plan.commands[span.command];
    if (command.isEvent())
      continue;
    std::string kind = kindName(command);
    auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto &row) {
      return row.name == kind;
    });
    if (found == kinds.end())
      found = kinds.insert(kinds.end(), {kind});
    ++found->commands;
    found->seconds += span.seconds();
  }
  return kinds;
}

/// All ranks run the same plan, so the trace has only the first few.
static constexpr size_t shownRanks = 16;

static StepTrace simulatedTrace(const SimulatedStep &simulated,
                                const rt::PlanDescription &description,
                                const std::string &hardware) {
  StepTrace trace = namedTrace(description, "simulated on " + hardware);
  if (trace.ranks.size() > shownRanks) {
    trace.furtherRanks = int64_t(trace.ranks.size() - shownRanks);
    trace.ranks.resize(shownRanks);
  }
  // Counters and the critical path are found for the first rank alone. No
  // other rank enters a collective later.
  std::vector<TraceRank> all = std::exchange(trace.ranks, {});
  trace.ranks.push_back({all.front().name, simulated.rank.streams, {}, {}});
  fillCounters(trace);
  rt::fillCriticalPath(trace);
  for (size_t i = 1; i < all.size(); ++i) {
    trace.ranks.push_back(trace.ranks.front());
    trace.ranks.back().name = std::move(all[i].name);
  }
  return trace;
}

static std::vector<std::pair<std::string, std::string>>
basisOf(const Hardware &hardware) {
  const Basis &basis = hardware.basis;
  std::vector<std::pair<std::string, std::string>> result = {
      {"measured", basis.measured},
      {"published", basis.published},
      {"derived", basis.derived},
      {"assumed", basis.assumed}};
  llvm::erase_if(result, [](const auto &part) { return part.second.empty(); });
  return result;
}

static rt::Prediction predictionOf(const Plan &plan,
                                   const SimulatedStep &simulated,
                                   const Hardware &hardware) {
  rt::Prediction result;
  result.hardware = hardware.name;
  result.basis = basisOf(hardware);
  result.kinds = kindsOf(plan, simulated);
  result.computing = simulated.computing;
  result.matmulUtilisation = simulated.matmulUtilisation;
  result.linkUtilisation = simulated.linkUtilisation;
  const MemoryUse memory = memoryUse(plan, simulated.rank);
  result.peakBytes = memory.peakBytes;
  result.peakSeconds = memory.peakSeconds;
  for (int64_t buffer : memory.liveAtPeak)
    result.liveAtPeak.push_back(
        {plan.buffers[buffer].name, plan.buffers[buffer].bytes});
  result.memoryBytes = hardware.memoryBytes;
  result.neededBytes =
      plan.arenaBytes * (hardware.isCpu() ? plan.numRanks() : 1);
  return result;
}

rt::Status tpsp::tool::predictRows(const ToolOptions &options,
                                   const rt::PlanDescription &description,
                                   std::string &machine,
                                   std::vector<double> &seconds) {
  auto failed = [](llvm::Error error) {
    return rt::Status(TPSP_RT_INVALID, llvm::toString(std::move(error)));
  };
  llvm::Expected<const Hardware &> hardware = options.hardware.read();
  if (!hardware)
    return failed(hardware.takeError());
  const Plan &plan = *description.plan;
  if (std::string misfit = misfitOf(*hardware, plan.mesh); !misfit.empty())
    return {TPSP_RT_INVALID, misfit};
  llvm::Expected<SimulatedStep> simulated =
      simulate(plan, CostModel(*hardware, plan.mesh, options.threads));
  if (!simulated)
    return failed(simulated.takeError());
  machine = hardware->name;
  seconds.assign(plan.ledger.size(), 0);
  for (const TraceSpan &span : simulated->commands) {
    const PlanCommand &command = plan.commands[span.command];
    if (command.kind == CommandKind::Collective && command.collective.row >= 0)
      seconds[command.collective.row] +=
          span.seconds() / double(std::max<int64_t>(
                               plan.ledger[command.collective.row].times, 1));
  }
  return {};
}

llvm::Error tpsp::tool::predict(const Hardware &hardware, int64_t threads,
                                const rt::PlanDescription &description,
                                rt::RunReport &report) {
  const Plan &plan = *description.plan;
  if (std::string misfit = misfitOf(hardware, plan.mesh); !misfit.empty())
    return llvm::createStringError(misfit);
  llvm::Expected<SimulatedStep> simulated =
      simulate(plan, CostModel(hardware, plan.mesh, threads));
  if (!simulated)
    return simulated.takeError();
  report.backend = "simulated";
  report.stepSeconds = {simulated->seconds};
  report.trace = simulatedTrace(*simulated, description, hardware.name);
  report.prediction = predictionOf(plan, *simulated, hardware);
  return llvm::Error::success();
}
