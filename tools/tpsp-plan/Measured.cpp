#include "Measured.h"

#include "tpsp/Abi/FileHandle.h"
#include "tpsp/Planner/Compare.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::plantool;
using namespace tpsp::planner;

llvm::Expected<std::vector<MeasuredRun>>
plantool::readMeasured(const std::string &path) {
  constexpr int64_t longest = 1 << 20;
  std::string text;
  if (rt::Status read = rt::readWhole(path, longest, text); !read.ok())
    return llvm::createStringError(
        fmt::format("cannot read '{}': {}", path, read.message()));
  auto runs = parseRuns(text);
  if (!runs)
    return llvm::createStringError(
        fmt::format("'{}': {}", path, llvm::toString(runs.takeError())));
  return runs;
}

/// The runs with their plans' predictions.
static llvm::Expected<std::vector<PredictedRun>>
predict(const std::vector<MeasuredRun> &runs, const Planning &planning) {
  std::vector<PredictedRun> predicted;
  for (const MeasuredRun &run : runs) {
    const Evaluation *plan =
        findPlan(planning.result, planning.facts,
                 planning.matrix.options.memoryLimit, run.plan);
    if (!plan)
      return llvm::createStringError(fmt::format(
          "no plan of the space is called '{}'; give a usual name or the "
          "subscripts of a plan, as the table has them",
          run.plan));
    if (!plan->isLegal())
      return llvm::createStringError(
          fmt::format("plan '{}' is illegal: {}", run.plan, plan->refusal));
    predicted.push_back({run, partsOf(*plan), plan->memory.total});
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

llvm::Error plantool::calibrate(const std::vector<MeasuredRun> &runs,
                                Planning &planning) {
  auto predicted = predict(runs, planning);
  if (!predicted)
    return predicted.takeError();
  Calibration calibration(std::move(*predicted));
  for (Evaluation &step : planning.result.evaluations)
    planner::calibrate(calibration, step);
  makeAgain(calibration, planning);
  return llvm::Error::success();
}
