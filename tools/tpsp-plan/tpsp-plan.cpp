// tpsp-plan: which parallelism, does it fit, how fast, and why not another.
#include "Options.h"
#include "common/Compilation.h"

#include "tpsp/Abi/Quantity.h"
#include "tpsp/Compile/Planning.h"
#include "tpsp/Runtime/Driver/WholeFile.h"

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
  request.evaluator.program = {options.function, "", options.forgetPlacements};
  request.evaluator.compile = resolved(options, use);
  request.devices = options.devices;
  request.memoryLimit = options.memoryBytes;
  request.pins = options.pins;
  request.maxAxes = unsigned(options.maxAxes);
  request.rows = size_t(options.rows);
  request.search.threads = std::max(1u, std::thread::hardware_concurrency());
  request.search.finalists = unsigned(options.finalists);
  request.search.secondsLimit = options.seconds;
  request.search.evaluationsLimit = options.evaluations;
  request.given = {options.has("micro-batches"), options.has("rematerialize")};
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

static int printPlanning(const Options &options, const Planning &planning) {
  std::string text = options.json ? planner::toJson(planning.matrix)
                                  : planner::toText(planning.matrix);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0)
    return fail("standard output cannot be written");
  if (planning.best())
    return Done;
  return fail(planner::nothingFits(planning.matrix));
}

int main(int argc, char **argv) {
  Options options;
  if (int code = parseOptions(argc, argv, options); code >= 0)
    return code;
  // Reads the model, and says what is wrong with it where it is wrong.
  Compilation compilation(options, {}, /*speaks=*/true);
  PlanningRequest request = requestOf(options);
  Progress progress(/*quiet=*/false);
  progress.phase("planning");
  auto planning = planProgram(compilation.mlirContext(), request,
                              [&](const planner::SearchState &state) {
                                progress.detail(stateText(state));
                              });
  progress.done();
  if (!planning)
    return fail(llvm::toString(planning.takeError()));
  if (int code = printPlanning(options, **planning); code != Done)
    return code;
  if (options.output.empty())
    return Done;
  auto text = placedText(compilation.mlirContext(), request,
                         (*planning)->best()->candidate);
  if (!text)
    return fail(llvm::toString(text.takeError()));
  rt::Status status = rt::writeText(options.output, *text);
  return status.ok() ? Done : fail(status.message());
}
