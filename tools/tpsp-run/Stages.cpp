// Simulates a program with stages and makes its report.
#include "WithCompiler.h"
#include "common/Compilation.h"
#include "common/StagesReport.h"

#include "tpsp/Passes/Program/StageAssignment.h"
#include "tpsp/Planning/StageSimulation.h"

#include <chrono>

using namespace tpsp;
using namespace tpsp::run;
using namespace tpsp::tool;

std::optional<bool> tpsp::run::dividesLayers(const Options &options) {
  Compilation compilation(options, {}, /*speaks=*/false);
  return hasStages(compilation.mlirContext(), options.model, options);
}

rt::Status tpsp::run::simulateStages(const Options &options, bool speaks,
                                     Progress &progress, StagesOutput &output) {
  auto begin = std::chrono::steady_clock::now();
  CompileUse use;
  use.isSimulated = true;
  Compilation compilation(options, use, speaks);
  llvm::Expected<const Hardware &> hardware = options.hardware.read();
  if (!hardware)
    return compilation.failure(hardware.takeError());
  StageRequest request;
  request.compile = resolved(options, use);
  request.chunksPerStage = options.stageChunks;
  auto layers = readStageLayers(options.stageLayers);
  if (!layers)
    return compilation.failure(llvm::createStringError(
        "--stage-layers: " + llvm::toString(layers.takeError())));
  request.layers.assign(layers->begin(), layers->end());
  auto stages = compileAndSimulateStages(
      compilation.mlirContext(), options.model, request,
      {options.stageSchedule, options.stageBound, options.stageActions,
       options.stagePlacement},
      *hardware, [&](llvm::StringRef phase) {
        progress.phase("compiling: " + phase.str());
      });
  if (!stages)
    return compilation.failure(stages.takeError());
  double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  std::string schedule = options.stageActions.empty()
                             ? options.stageSchedule
                             : "actions of " + options.stageActions;
  StagesReport report =
      stagesReport(std::move(*stages), *hardware,
                   {options.model, schedule, request.compile.overlap, seconds});
  output = {toText(report),
            toJson(report),
            traceOf(report),
            report.step.seconds,
            report.neededBytes,
            report.memoryBytes,
            toCsv(report.step.problem, report.step.schedule)};
  return {};
}
