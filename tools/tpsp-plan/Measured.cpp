#include "Measured.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Planning/PlansByName.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::plantool;
using namespace tpsp::planner;

llvm::Expected<MeasuredFile> plantool::readMeasured(const std::string &path) {
  constexpr int64_t longest = 1 << 20;
  std::string text;
  if (rt::Status read = rt::readWhole(path, longest, text); !read.ok())
    return llvm::createStringError(
        fmt::format("cannot read '{}': {}", path, read.message()));
  auto runs = parseRuns(text);
  if (!runs)
    return llvm::createStringError(
        fmt::format("'{}': {}", path, llvm::toString(runs.takeError())));
  return MeasuredFile{path, std::move(*runs)};
}

/// The request for the plan of a run. Model, devices and settings are those of
/// the row, or else those of the command. A model is in the file's folder.
static PlanningRequest requestFor(const MeasuredRun &run,
                                  const MeasuredFile &file,
                                  PlanningRequest request) {
  CompileOptions &compile = request.evaluator.compile;
  if (!run.model.empty()) {
    llvm::SmallString<128> path(run.model);
    if (llvm::sys::path::is_relative(path)) {
      path = llvm::sys::path::parent_path(file.path);
      llvm::sys::path::append(path, run.model);
    }
    request.evaluator.path = path.str().str();
  }
  if (run.devices > 0)
    request.devices = run.devices;
  if (run.microBatches > 0) {
    compile.microBatches = run.microBatches;
    request.given.microBatches = true;
  }
  if (!run.rematerialize.empty()) {
    Rematerialisation redone = Rematerialisation::named(run.rematerialize);
    compile.rematerialize = redone.mode;
    compile.rematerializeLayers = redone.layers;
    request.given.rematerialize = true;
  }
  return request;
}

static PredictedRun predictedRun(const MeasuredRun &run,
                                 const Evaluation &plan) {
  return {run, partsOf(plan), plan.memory.total,
          settingsText(plan.candidate.settings)};
}

llvm::Expected<std::vector<PredictedRun>>
plantool::predictOthers(mlir::MLIRContext &context, const MeasuredFile &file,
                        const PlanningRequest &request,
                        tool::Progress &progress) {
  std::vector<PredictedRun> predicted;
  for (const MeasuredRun &run : file.runs) {
    if (!run.isOfOtherStep())
      continue;
    progress.detail(PredictedRun{run}.name());
    auto plan = evaluatePlan(context, requestFor(run, file, request), run.plan);
    if (!plan)
      return llvm::createStringError(
          fmt::format("the run of {}: {}", PredictedRun{run}.name(),
                      llvm::toString(plan.takeError())));
    predicted.push_back(predictedRun(run, *plan));
  }
  return predicted;
}

/// The matrix of the calibrated plans. Plans that had a row keep it.
static void makeAgain(const Calibration &calibration, Planning &planning) {
  std::vector<Candidate> shown;
  for (const MatrixRow &row : planning.matrix.rows)
    shown.push_back(row.evaluation->candidate);
  MatrixOptions options = planning.matrix.options;
  options.calibration = calibration.text();
  options.runs = calibration.compared();
  // Bounds are of times that are not calibrated.
  llvm::erase_if(planning.result.evaluations,
                 [](const Evaluation &e) { return e.isBound; });
  // So is the number of devices that would do.
  planning.wouldFit.clear();
  llvm::stable_sort(planning.result.evaluations, [&](const Evaluation &a,
                                                     const Evaluation &b) {
    return comesBefore(a, b, options.memoryLimit, planning.facts);
  });
  planning.matrix = makeMatrix(planning.result, shown, planning.facts, options);
}

llvm::Error plantool::calibrate(const MeasuredFile &file,
                                llvm::ArrayRef<PredictedRun> others,
                                Planning &planning) {
  std::vector<PredictedRun> predicted;
  for (const MeasuredRun &run : file.runs) {
    if (run.isOfOtherStep()) {
      predicted.push_back(others.consume_front());
      continue;
    }
    auto plan = planNamed(planning, run.plan);
    if (!plan)
      return plan.takeError();
    predicted.push_back(predictedRun(run, **plan));
  }
  Calibration calibration(std::move(predicted));
  for (Evaluation &step : planning.result.evaluations)
    planner::calibrate(calibration, step);
  makeAgain(calibration, planning);
  return llvm::Error::success();
}
