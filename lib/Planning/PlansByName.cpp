#include "tpsp/Planning/PlansByName.h"

#include "tpsp/Planner/Compare.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::planner;

llvm::Expected<const Evaluation *> tpsp::planNamed(const Planning &planning,
                                                   const std::string &name) {
  const Evaluation *plan = findPlan(planning.result, planning.facts,
                                    planning.matrix.options.memoryLimit, name);
  if (!plan)
    return llvm::createStringError("no plan of the space is called '" + name +
                                   "'; give a usual name or the subscripts of "
                                   "a plan, as the table has them");
  if (!plan->isLegal())
    return llvm::createStringError("plan '" + name +
                                   "' is illegal: " + plan->refusal);
  return plan;
}

llvm::Expected<Evaluation> tpsp::evaluatePlan(MLIRContext &context,
                                              PlanningRequest request,
                                              const std::string &name) {
  request.named = {name};
  request.search.onlyNamed = true;
  auto planning = planProgram(context, request, [](const SearchState &) {});
  if (!planning)
    return planning.takeError();
  auto plan = planNamed(**planning, name);
  if (!plan)
    return plan.takeError();
  return **plan;
}
