#include "RequestChecks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tpsp;
using namespace tpsp::planner;

llvm::Error tpsp::checkFree(const PlanningRequest &request,
                            const ProgramFacts &facts) {
  if (llvm::any_of(facts.tensors,
                   [](const TensorFacts &tensor) { return tensor.isFree; }))
    return llvm::Error::success();
  return llvm::createStringError(
      "'" + request.evaluator.path +
      "' places all of its arguments; leave one unplaced ('?'), or give "
      "--forget-placements");
}

llvm::Error tpsp::checkStages(const PlanningRequest &request,
                              const ProgramFacts &facts) {
  int64_t stages = request.stages.stages;
  for (const WrittenAxis &axis : facts.mesh)
    if (axis.role == AxisRole::Stage)
      stages = axis.size;
  int64_t chunks = stages * std::max<int64_t>(request.stages.chunks, 1);
  if (stages > 1 && chunks > facts.layers)
    return llvm::createStringError(
        llvm::formatv("{0} stages of --stage-chunks {1} take {2} layers "
                      "(calls of functions), and the program has {3}; give "
                      "fewer chunks",
                      stages, request.stages.chunks, chunks, facts.layers)
            .str());
  if (stages <= 1 ||
      llvm::any_of(request.search.stageSettings, [&](const Settings &each) {
        return each.microBatches >= stages;
      }))
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv(
          "{0} stages take as many micro-batches, and {1}; give "
          "fewer stages",
          stages,
          request.given.microBatches
              ? "--micro-batches says " +
                    std::to_string(request.evaluator.compile.microBatches)
              : "index '" + request.evaluator.compile.microBatchIndex +
                    "' cannot be cut into so many")
          .str());
}

llvm::Error tpsp::keepTaken(PlanningRequest &request,
                            const ProgramFacts &facts) {
  if (std::string problem =
          request.reader.keepTaken(request.search.settings, facts);
      !problem.empty())
    return llvm::createStringError(problem);
  std::string problem =
      request.reader.keepTaken(request.search.stageSettings, facts);
  if (request.stages.stages <= 1 || problem.empty())
    return llvm::Error::success();
  return llvm::createStringError(problem);
}
