// Simulates a program with stages and makes its report.
#include "Stages.h"

#include "WithCompiler.h"
#include "common/Compilation.h"

#include "tpsp/Passes/Program/StageAssignment.h"
#include "tpsp/Planning/StageSimulation.h"

#include <chrono>

using namespace tpsp;
using namespace tpsp::run;

static void addUse(const Hardware &hardware, StagesReport &report) {
  int64_t ranks = 1, most = 0, all = 0;
  for (const MeshAxis &axis : report.plans.mesh)
    ranks *= axis.size;
  for (const StageUse &stage : report.step.stages) {
    most = std::max(most, stage.peak);
    all += stage.peak * (ranks / int64_t(report.step.stages.size()));
  }
  report.memoryBytes = hardware.memoryBytes;
  report.neededBytes = hardware.isCpu() ? all : most;
  const StagePlan &first = report.plans.chunks.front();
  int64_t dtype = TPSP_RT_F32;
  for (const PlanCommand &command : first.plan->commands)
    if (command.kind == CommandKind::Matmul)
      dtype = command.dtype;
  double peak = matmulPeak(hardware, dtype, ranks);
  if (peak > 0 && report.step.seconds > 0)
    report.matmulUtilisation = report.step.flops /
                               double(report.step.stages.size()) / peak /
                               report.step.seconds;
}

bool tpsp::run::dividesLayers(const Options &options) {
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
      {options.stageSchedule, options.stageBound}, *hardware,
      [&](llvm::StringRef phase) {
        progress.phase("compiling: " + phase.str());
      });
  if (!stages)
    return compilation.failure(stages.takeError());
  StagesReport report;
  report.plans = std::move(stages->plans);
  report.program = options.model;
  report.hardware = hardware->name;
  report.schedule = options.stageSchedule;
  report.askedOverlap = request.compile.overlap;
  report.overlap = stages->overlap;
  report.compileSeconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  report.step = std::move(stages->simulation.step);
  addUse(*hardware, report);
  output = {toText(report),      toJson(report),     traceOf(report),
            report.step.seconds, report.neededBytes, report.memoryBytes};
  return {};
}
