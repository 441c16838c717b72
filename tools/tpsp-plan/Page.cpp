#include "Page.h"

#include "common/Simulate.h"
#include "common/StagesReport.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Planning/PlannedStep.h"
#include "tpsp/Runtime/Driver/Page/Page.h"

#include <fmt/format.h>

#include <chrono>

using namespace tpsp;
using Clock = std::chrono::steady_clock;

/// Steps of a page, at most, and seconds that compiling them may take in all.
static constexpr size_t mostSteps = 3;
static constexpr double mostSeconds = 20;

static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns positions of the plans whose steps are shown, best first. If nothing
/// fits, they are the plans that come nearest to fitting.
static std::vector<size_t> shownPlans(const Planning &planning) {
  std::vector<size_t> shown;
  const std::vector<planner::MatrixRow> &rows = planning.matrix.rows;
  for (size_t i = 0; i < rows.size() && shown.size() < mostSteps; ++i) {
    const planner::Evaluation &plan = *rows[i].evaluation;
    bool isRanked = rows[i].rank > 0 || !planning.best();
    if (plan.isLegal() && !plan.isBound && isRanked)
      shown.push_back(i);
  }
  return shown;
}

/// Returns the step of a plan with stages, as tpsp-run --simulate would report
/// it for the placed program.
static llvm::Expected<rt::PageStep>
stagedStepOf(mlir::MLIRContext &context,
             const CandidateEvaluatorOptions &options, const Hardware &hardware,
             const planner::Candidate &candidate) {
  auto begin = Clock::now();
  auto stages = planStages(context, options, candidate);
  if (!stages)
    return stages.takeError();
  tool::StagesReport report =
      tool::stagesReport(std::move(*stages), hardware,
                         {options.path, candidate.settings.schedule,
                          options.compile.overlap, secondsSince(begin)});
  return rt::PageStep{tool::toJson(report), tool::traceOf(report), ""};
}

/// The same for a plan without stages.
static llvm::Expected<rt::PageStep>
wholeStepOf(mlir::MLIRContext &context,
            const CandidateEvaluatorOptions &options, const Hardware &hardware,
            const planner::Candidate &candidate) {
  auto begin = Clock::now();
  auto step = planStep(context, options, candidate);
  if (!step)
    return step.takeError();
  const std::string &dtype = options.compile.dtype;
  rt::PlanDescription description;
  description.plan = step->plan;
  description.model = options.path;
  rt::RunReport report;
  report.plan = step->plan;
  report.dtype = dtype.empty() ? "as written" : dtype;
  report.compileSeconds = secondsSince(begin);
  if (llvm::Error error =
          tool::predict(hardware, options.compile.threads, description, report))
    return error;
  return rt::PageStep{rt::toJson(report), std::move(report.trace),
                      std::move(step->explanation)};
}

static llvm::Expected<rt::PageStep>
stepOf(mlir::MLIRContext &context, const CandidateEvaluatorOptions &options,
       const planner::Candidate &candidate) {
  llvm::Expected<const Hardware &> hardware = options.compile.hardware.read();
  if (!hardware)
    return hardware.takeError();
  return (candidate.hasStages() ? stagedStepOf : wholeStepOf)(
      context, options, *hardware, candidate);
}

/// Estimates the seconds for compiling the plan with all its layers.
static double expectedSeconds(const planner::Evaluation &plan,
                              const CandidateEvaluatorOptions &options) {
  double effort =
      plan.isComposed ? candidateEvaluators(options)()->wholeEffort() : 1;
  return plan.evaluationSeconds * effort;
}

std::string tpsp::plantool::pageOf(mlir::MLIRContext &context,
                                   const Planning &planning,
                                   tool::Progress &progress,
                                   std::string &warnings) {
  std::vector<rt::PageStep> steps;
  auto begin = Clock::now();
  for (size_t number : shownPlans(planning)) {
    const planner::MatrixRow &row = planning.matrix.rows[number];
    double seconds = expectedSeconds(*row.evaluation, planning.evaluator);
    if (secondsSince(begin) + seconds > mostSeconds) {
      if (steps.empty())
        warnings += fmt::format("the page has no step of {}: to compile all of "
                                "its layers would take some {}; write its "
                                "program with -o, and see it with tpsp-run "
                                "--simulate --html\n",
                                row.name, rt::secondsText(seconds));
      break;
    }
    progress.phase("the step of " + row.name);
    auto step = stepOf(context, planning.evaluator, row.evaluation->candidate);
    if (!step) {
      warnings += fmt::format("the page has no step of {}: {}\n", row.name,
                              llvm::toString(step.takeError()));
      continue;
    }
    step->plan = int64_t(number);
    steps.push_back(std::move(*step));
  }
  return rt::toPage(planner::toJson(planning.matrix), steps);
}
