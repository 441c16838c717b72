#include "Simulate.h"

#include "tpsp/Passes/StepOfProgram.h"
#include "tpsp/Planner/Simulator.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::run;

static std::string kindName(const StepCommand &command) {
  switch (command.kind) {
  case StepKind::Matmul:
    return "matmul";
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

/// A row of the ledger is one command, or several if it was cut; what hides it
/// is what hides the longest of them.
static rt::Prediction::Collective
collectiveOf(const rt::ManifestCollective &row, const Step &step,
             const SimulatedStep &simulated) {
  rt::Prediction::Collective result;
  double longest = 0;
  for (int64_t number : row.commands) {
    const SimulatedCommand &command = simulated.commands[number];
    result.seconds += command.seconds();
    result.exposed += command.exposed;
    double hidden = command.seconds() - command.exposed;
    if (command.hiddenUnder < 0 || hidden <= longest)
      continue;
    longest = hidden;
    result.hiddenUnder = step.commands[command.hiddenUnder].name;
  }
  return result;
}

static rt::Prediction predictionOf(const Step &step,
                                   const SimulatedStep &simulated,
                                   const Hardware &hardware,
                                   const rt::Manifest &manifest) {
  rt::Prediction result;
  result.hardware = hardware.name;
  result.kinds = kindsOf(step, simulated);
  result.communication = simulated.communication;
  result.exposed = simulated.exposed;
  result.computing = simulated.computing;
  result.hiddenShare = simulated.hiddenShare();
  result.matmulUtilisation = simulated.matmulUtilisation;
  result.linkUtilisation = simulated.linkUtilisation;
  for (const rt::ManifestCollective &row : manifest.collectives)
    result.collectives.push_back(collectiveOf(row, step, simulated));
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

llvm::Error tpsp::run::predict(const Options &options,
                               const CompiledModel &model,
                               rt::RunReport &report) {
  llvm::Expected<Hardware> hardware = findHardware(options.hardware);
  if (!hardware)
    return hardware.takeError();
  auto programs = mlir::ModuleOp(model.plan.get()).getOps<plan::ProgramOp>();
  Step step = stepOf(*programs.begin());
  if (std::string misfit = misfitOf(*hardware, step.mesh); !misfit.empty())
    return llvm::createStringError(misfit);
  llvm::Expected<SimulatedStep> simulated =
      simulate(step, CostModel(*hardware, step.mesh, options.threads));
  if (!simulated)
    return simulated.takeError();
  report.backend = "simulated";
  report.stepSeconds = {simulated->seconds};
  report.prediction = predictionOf(step, *simulated, *hardware, model.manifest);
  return llvm::Error::success();
}
