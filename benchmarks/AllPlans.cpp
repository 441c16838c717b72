// bench-all-plans MODEL.mlir HARDWARE.json DEVICES FOLDER: writes every plan of
// at most two axes that the compiler accepts as FOLDER/NUMBER.mlir. Prints
// number, predicted seconds and subscripts, separated by tabs. Each file's head
// says how to run it: forward and backward, without overlap and without options
// that save memory. benchmarks/planner runs them.
#include "tpsp/InitAll.h"
#include "tpsp/Planner/Space.h"
#include "tpsp/Planning/Planning.h"
#include "tpsp/Runtime/Driver/Files/WholeFile.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>

using namespace tpsp;

static int fail(const std::string &message) {
  fmt::print(stderr, "bench-all-plans: {}\n", message);
  return 1;
}

/// Writes the plan. Returns an error, or an empty string.
static std::string write(mlir::MLIRContext &context,
                         const PlanningRequest &request,
                         const planner::Candidate &candidate,
                         const std::string &path) {
  planner::Evaluation plan;
  plan.candidate = candidate;
  auto text = placedText(context, request, plan);
  if (!text)
    return llvm::toString(text.takeError());
  rt::Status status = rt::writeText(path, *text);
  return status.ok() ? "" : status.message();
}

static int writeAll(mlir::MLIRContext &context, const PlanningRequest &request,
                    const std::string &folder) {
  auto program = PlannedProgram::read(context, request.evaluator.path,
                                      request.evaluator.readOptions());
  if (!program)
    return fail(llvm::toString(program.takeError()));
  const planner::ProgramFacts &facts = (*program)->facts();
  planner::SpaceOptions options;
  options.devices = request.devices;
  options.maxAxes = request.maxAxes;
  options.stages = 1;
  planner::Space space(facts, options);
  auto evaluator = candidateEvaluators(request.evaluator)();
  int64_t number = 0;
  for (const planner::Candidate &candidate : space.leaves()) {
    planner::Evaluation evaluation = evaluator->evaluateWhole(candidate);
    if (!evaluation.isLegal())
      continue;
    std::string path = fmt::format("{}/{}.mlir", folder, number);
    if (std::string problem = write(context, request, candidate, path);
        !problem.empty())
      return fail(problem);
    fmt::print("{}\t{}\t{}\n", number++, evaluation.seconds,
               planner::subscriptText(candidate, facts));
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return fail("takes MODEL.mlir HARDWARE.json DEVICES FOLDER");
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  PlanningRequest request;
  request.evaluator.path = argv[1];
  request.evaluator.program.forgetsPlacements = true;
  request.evaluator.compile.grad = true;
  request.evaluator.compile.overlap = "off";
  request.evaluator.compile.hardware = argv[2];
  request.devices = std::max(1, std::atoi(argv[3]));
  request.maxAxes = 2;
  return writeAll(context, request, argv[4]);
}
