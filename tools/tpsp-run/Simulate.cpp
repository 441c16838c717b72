#include "Simulate.h"

#include "tpsp/Compile/TraceOfStep.h"
#include "tpsp/Schedule/Simulator.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::run;

static std::string kindName(const StepCommand &command) {
  switch (command.kind) {
  case StepKind::Matmul:
    return "matmul";
  case StepKind::Attention:
    return "attention";
  case StepKind::Kernel:
    return "kernel";
  case StepKind::Copy:
    return "copy";
  case StepKind::Collective:
    return name(command.collective.kind).str();
  case StepKind::EventRecord:
  case StepKind::EventWait:
    break;
  }
  return "";
}

static std::vector<rt::Prediction::Kind>
kindsOf(const Step &step, const SimulatedStep &simulated) {
  std::vector<rt::Prediction::Kind> kinds;
  for (size_t i = 0; i < step.commands.size(); ++i) {
    if (step.commands[i].isEvent())
      continue;
    std::string kind = kindName(step.commands[i]);
    auto found = std::find_if(kinds.begin(), kinds.end(), [&](const auto &row) {
      return row.name == kind;
    });
    if (found == kinds.end())
      found = kinds.insert(kinds.end(), {kind});
    ++found->commands;
    found->seconds += simulated.commands[i].seconds();
  }
  return kinds;
}

/// All ranks do the same: the first of them stand for the others.
static constexpr size_t shownRanks = 16;

static rt::StepTrace simulatedTrace(const Step &step,
                                    const SimulatedStep &simulated,
                                    const rt::PlanDescription &description,
                                    const std::string &hardware) {
  rt::StepTrace trace = namedTrace(description, "simulated on " + hardware);
  if (trace.ranks.size() > shownRanks) {
    trace.setting += ", ranks 0 to " + std::to_string(shownRanks - 1);
    trace.ranks.resize(shownRanks);
  }
  fillSimulated(trace, step, simulated);
  rt::fillCounters(trace);
  return trace;
}

static rt::Prediction predictionOf(const Step &step,
                                   const SimulatedStep &simulated,
                                   const Hardware &hardware,
                                   const rt::Manifest &manifest) {
  rt::Prediction result;
  result.hardware = hardware.name;
  result.kinds = kindsOf(step, simulated);
  result.computing = simulated.computing;
  result.matmulUtilisation = simulated.matmulUtilisation;
  result.linkUtilisation = simulated.linkUtilisation;
  result.peakBytes = simulated.peakBytes;
  result.peakSeconds = simulated.peakSeconds;
  for (int64_t buffer : simulated.liveAtPeak)
    result.liveAtPeak.push_back(
        {step.buffers[buffer].name, step.buffers[buffer].bytes});
  result.memoryBytes = hardware.memoryBytes;
  result.neededBytes =
      manifest.arenaBytes * (hardware.isCpu() ? manifest.numRanks() : 1);
  return result;
}

llvm::Error tpsp::run::predict(const Options &options, const Step &step,
                               const rt::PlanDescription &description,
                               rt::RunReport &report) {
  llvm::Expected<Hardware> hardware = findHardware(options.hardware);
  if (!hardware)
    return hardware.takeError();
  if (std::string misfit = misfitOf(*hardware, step.mesh); !misfit.empty())
    return llvm::createStringError(misfit);
  llvm::Expected<SimulatedStep> simulated =
      simulate(step, CostModel(*hardware, step.mesh, options.threads));
  if (!simulated)
    return simulated.takeError();
  report.backend = "simulated";
  report.stepSeconds = {simulated->seconds};
  report.trace = simulatedTrace(step, *simulated, description, hardware->name);
  report.prediction =
      predictionOf(step, *simulated, *hardware, description.manifest);
  return llvm::Error::success();
}
