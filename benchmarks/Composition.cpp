// bench-composition MODEL.mlir HARDWARE DEVICES on|off COUNT: compares steps
// that are composed of few layers with whole ones. COUNT plans of at most three
// axes are compiled both ways, with an update, with overlap or without. Prints
// their steps, the differences of the whole figures as shares of the composed
// ones, and the largest differences.
#include "tpsp/InitAll.h"
#include "tpsp/Planner/Space.h"
#include "tpsp/Planning/Planning.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>

#include <random>

using namespace tpsp;
using planner::Evaluation;

static int fail(const std::string &message) {
  fmt::print(stderr, "bench-composition: {}\n", message);
  return 1;
}

namespace {

/// The largest shares by which whole figures are below composed ones, or above.
struct Differences {
  double least = 0, most = 0;

  double note(double composed, double whole) {
    double share = whole / composed - 1;
    least = std::min(least, share);
    most = std::max(most, share);
    return 100 * share;
  }
};

struct Largest {
  Differences seconds, busy, memory;
};

} // namespace

static void compare(planner::Evaluator &evaluator,
                    const planner::Candidate &candidate,
                    const planner::ProgramFacts &facts, Largest &largest) {
  Evaluation composed = evaluator.evaluate(candidate);
  if (!composed.isLegal() || !composed.isComposed)
    return;
  Evaluation whole = evaluator.evaluateWhole(candidate);
  if (!whole.isLegal())
    return;
  composed.error = {};
  fmt::print(
      "{:9.3f} ms {:9.3f} ms  {:+6.2f} %  busy {:+6.2f} %  memory "
      "{:+6.2f} %  {} {}\n",
      1e3 * composed.seconds, 1e3 * whole.seconds,
      largest.seconds.note(composed.seconds, whole.seconds),
      largest.busy.note(composed.busiestSeconds(), whole.busiestSeconds()),
      largest.memory.note(double(composed.memory.total),
                          double(whole.memory.total)),
      planner::subscriptText(candidate, facts),
      planner::settingsText(candidate.settings));
  std::fflush(stdout);
}

static planner::Settings settingsFor(const planner::Candidate &candidate,
                                     int64_t number) {
  int64_t stages = candidate.numStages();
  const char *modes[] = {"none", "none", "full"};
  if (stages > 1)
    return {2 * stages, modes[number % 3], "1f1b", 1};
  return {int64_t(1) << (number % 2), modes[number % 3]};
}

static int compareAll(mlir::MLIRContext &context,
                      const PlanningRequest &request, size_t count) {
  auto program = PlannedProgram::read(context, request.evaluator.path,
                                      request.evaluator.readOptions());
  if (!program)
    return fail(llvm::toString(program.takeError()));
  const planner::ProgramFacts &facts = (*program)->facts();
  planner::SpaceOptions options;
  options.devices = request.devices;
  options.hasState = true;
  std::vector<planner::Candidate> leaves =
      planner::Space(facts, options).leaves();
  std::mt19937 random(1);
  std::shuffle(leaves.begin(), leaves.end(), random);
  leaves.resize(std::min(leaves.size(), count));
  auto evaluator = candidateEvaluators(request.evaluator)();
  Largest largest;
  int64_t number = 0;
  for (planner::Candidate &candidate : leaves) {
    candidate.settings = settingsFor(candidate, number++);
    compare(*evaluator, candidate, facts, largest);
  }
  for (auto [what, all] :
       {std::pair("seconds", largest.seconds), std::pair("busy", largest.busy),
        std::pair("memory", largest.memory)})
    fmt::print("{}: {:+.2f} % to {:+.2f} %\n", what, 100 * all.least,
               100 * all.most);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 6)
    return fail("takes MODEL.mlir HARDWARE DEVICES on|off COUNT");
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  PlanningRequest request;
  request.evaluator.path = argv[1];
  request.evaluator.program.forgetsPlacements = true;
  CompileOptions &compile = request.evaluator.compile;
  compile.grad = compile.forGpu = compile.epilogues = true;
  compile.optimizer = "adamw";
  compile.attention = "fused";
  compile.hardware = argv[2];
  compile.overlap = argv[4];
  request.devices = std::max(1, std::atoi(argv[3]));
  return compareAll(context, request, size_t(std::max(1, std::atoi(argv[5]))));
}
