// tpsp-plan: finds the parallelism for a model, and says whether it fits, how
// fast it is, and why not another.
#include "ChosenProfile.h"
#include "Measured.h"
#include "Options.h"
#include "Page.h"
#include "PlanExport.h"
#include "common/Compilation.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Planner/Compare.h"
#include "tpsp/Planning/PlansByExtent.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <thread>

using namespace tpsp;
using namespace tpsp::tool;
using namespace tpsp::plantool;

static PlanningRequest requestOf(const Options &options) {
  PlanningRequest request;
  CompileUse use;
  use.isSimulated = true;
  request.evaluator.path = options.model;
  request.evaluator.program = {options.function, options.forgetPlacements};
  request.evaluator.compile = resolved(options, use);
  request.devices = options.devices;
  request.memoryLimit = options.memoryBytes;
  request.pins = options.pins;
  request.named = options.compared;
  request.reader = readerOf(options);
  request.maxAxes = unsigned(options.maxAxes);
  request.rows = size_t(options.rows);
  request.search.threads = std::max(1u, std::thread::hardware_concurrency());
  request.search.rows = size_t(options.rows);
  request.search.finalists = unsigned(options.finalists);
  request.search.secondsLimit = options.seconds;
  request.search.evaluationsLimit = options.evaluations;
  request.stages = {options.stages, options.stageSchedule, options.stageChunks};
  request.automatic = options.automatic;
  request.given = {options.has("micro-batches"), options.has("rematerialize"),
                   options.has("micro-batch-index")};
  return request;
}

static int fail(const std::string &message) {
  fmt::print(stderr, "tpsp-plan: {}\n", message);
  return Failed;
}

/// "12 plans, best 3.21 ms, gap 14 %".
static std::string stateText(const planner::SearchState &state) {
  std::string best = state.best > 0 ? "best " + rt::secondsText(state.best)
                                    : std::string("none fits yet");
  return fmt::format("{} plans, {}, gap {:.0f} %", state.evaluations, best,
                     100 * state.gap);
}

static int print(const std::string &text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return fail("standard output cannot be written");
  return Done;
}

/// The plan of the row with this label.
static const planner::Evaluation *planOfRow(const planner::Matrix &matrix,
                                            const std::string &name) {
  for (const planner::MatrixRow &row : matrix.rows)
    if (row.label == name)
      return row.evaluation;
  return nullptr;
}

static int printComparison(const Options &options, const Planning &planning) {
  std::array<const planner::Evaluation *, 2> plans = {};
  std::array<std::string, 2> names;
  for (size_t i = 0; i < 2; ++i) {
    plans[i] = planOfRow(planning.matrix, options.compared[i]);
    if (!plans[i])
      plans[i] = planner::findPlan(planning.result, planning.facts,
                                   planning.matrix.options.memoryLimit,
                                   options.compared[i]);
    if (!plans[i])
      return fail("--compare: no plan is called '" + options.compared[i] +
                  "'; give a rank, a usual name or the subscripts of a plan, "
                  "as the table has them");
    if (!plans[i]->isLegal())
      return fail("--compare: plan '" + options.compared[i] +
                  "' is illegal: " + plans[i]->refusal);
    names[i] = planner::usualName(plans[i]->candidate, planning.facts) + " [" +
               planner::subscriptText(plans[i]->candidate, planning.facts) +
               "]";
  }
  return print(planner::compareText(*plans[0], *plans[1], names));
}

static int printExport(const Options &options, const Planning &planning) {
  planner::Exported exported = exportBest(options, planning);
  for (const std::string &note : exported.notes)
    fmt::print(stderr, "tpsp-plan: {}\n", note);
  return exported.problem.empty() ? print(exported.text)
                                  : fail(exported.problem);
}

static int printTable(const Options &options, const Planning &planning) {
  return print(options.json ? planner::toJson(planning.matrix)
                            : planner::toText(planning.matrix) +
                                  planner::sensitivityText(planning.matrix));
}

static int printPlanning(const Options &options, const Planning &planning) {
  if (!planning.best()) {
    if (int code =
            options.printsProgram() ? Done : printTable(options, planning);
        code != Done)
      return code;
    return fail(planner::nothingFits(planning.matrix, planning.wouldFit));
  }
  if (options.printsProgram())
    return Done;
  if (int code = options.exported.empty() ? printTable(options, planning)
                                          : printExport(options, planning);
      code != Done)
    return code;
  return options.compared.empty() ? Done : printComparison(options, planning);
}

static int writeFile(const std::string &path, const std::string &text) {
  rt::Status status = rt::writeText(path, text);
  return status.ok() ? Done : fail(status.message());
}

static int planAlong(mlir::MLIRContext &context, const Options &options,
                     const PlanningRequest &request) {
  auto range = parseExtentRange(options.along);
  if (!range)
    return fail(llvm::toString(range.takeError()));
  Progress progress(/*quiet=*/false);
  progress.phase("planning");
  auto plans =
      planByExtent(context, request, *range,
                   [&](int64_t extent, const planner::SearchState &state) {
                     progress.detail(fmt::format("{} = {}: {}", range->index,
                                                 extent, stateText(state)));
                   });
  progress.done();
  return plans ? print(toText(*plans))
               : fail(llvm::toString(plans.takeError()));
}

/// Writes --pareto and --html.
static int writePictures(const Options &options, mlir::MLIRContext &context,
                         const Planning &planning, Progress &progress) {
  if (!options.pareto.empty())
    if (int code =
            writeFile(options.pareto, planner::paretoSvg(planning.matrix));
        code != Done)
      return code;
  if (options.html.empty())
    return Done;
  std::string warnings;
  std::string page = pageOf(context, planning, progress, warnings);
  progress.done();
  for (llvm::StringRef line :
       llvm::split(llvm::StringRef(warnings).trim(), '\n'))
    if (!line.empty())
      fmt::print(stderr, "tpsp-plan: warning: {}\n", line.str());
  return writeFile(options.html, page);
}

/// Reads the file of --measured, if there is one, predicts the runs of other
/// steps, and asks for the plans of the others.
static int predictMeasured(const Options &options, mlir::MLIRContext &context,
                           PlanningRequest &request, Progress &progress,
                           MeasuredFile &file,
                           std::vector<planner::PredictedRun> &predicted) {
  if (options.measured.empty())
    return Done;
  auto read = readMeasured(options.measured);
  if (!read)
    return fail("--measured: " + llvm::toString(read.takeError()));
  file = std::move(*read);
  progress.phase("predicting measured runs");
  auto others = predictOthers(context, file, request, progress);
  progress.done();
  if (!others)
    return fail("--measured: " + llvm::toString(others.takeError()));
  predicted = std::move(*others);
  for (const planner::MeasuredRun &run : file.runs)
    if (!run.isOfOtherStep())
      request.named.push_back(run.plan);
  return Done;
}

int main(int argc, char **argv) {
  Options options;
  if (int code = parseOptions(argc, argv, options); code >= 0)
    return code;
  // The compilation is used to read the model and to print its diagnostics.
  if (!options.has("hardware"))
    fmt::print(stderr, "tpsp-plan: planning for CPUs; --hardware h100-sxm, for "
                       "instance, plans for GPUs\n");
  auto profile = applyProfile(options);
  if (!profile)
    return fail("--profile: " + llvm::toString(profile.takeError()));
  Compilation compilation(options, {}, /*speaks=*/true);
  PlanningRequest request = requestOf(options);
  request.profile = std::move(*profile);
  if (!options.along.empty())
    return planAlong(compilation.mlirContext(), options, request);
  Progress progress(/*quiet=*/false);
  MeasuredFile measured;
  std::vector<planner::PredictedRun> predicted;
  if (int code = predictMeasured(options, compilation.mlirContext(), request,
                                 progress, measured, predicted);
      code != Done)
    return code;
  progress.phase("planning");
  auto planning = planProgram(compilation.mlirContext(), request,
                              [&](const planner::SearchState &state) {
                                progress.detail(stateText(state));
                              });
  progress.done();
  if (!planning)
    return fail(llvm::toString(planning.takeError()));
  if (!measured.runs.empty())
    if (llvm::Error error = calibrate(measured, predicted, **planning))
      return fail("--measured: " + llvm::toString(std::move(error)));
  if (int code = writePictures(options, compilation.mlirContext(), **planning,
                               progress);
      code != Done)
    return code;
  if (int code = printPlanning(options, **planning); code != Done)
    return code;
  if (options.output.empty())
    return Done;
  auto text = placedText(compilation.mlirContext(), request,
                         writtenPlan(options, **planning));
  if (!text)
    return fail(llvm::toString(text.takeError()));
  return options.printsProgram() ? print(*text)
                                 : writeFile(options.output, *text);
}
