#include "PlanExport.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::plantool;
using planner::Evaluation;
using planner::Target;

planner::Reader plantool::readerOf(const Options &options) {
  planner::Reader reader;
  reader.target = planner::findTarget(options.target);
  reader.names.batch = options.microBatchIndex;
  return reader;
}

static planner::StepTerms stepOf(const Options &options,
                                 const planner::ProgramFacts &facts) {
  planner::StepTerms step;
  step.dtype = options.dtype;
  if (step.dtype.empty() && !facts.products.empty())
    step.dtype = rt::elementName(facts.products.front().dtype);
  step.optimizer = options.optimizer;
  step.clip = options.clip;
  step.overlaps = options.overlap != "off";
  step.cutsProducts = step.overlaps && options.overlapChunks > 1;
  step.bucketBytes = options.bucketBytes;
  step.reduceDtype = options.reduceDtype;
  step.keepsGathered = options.keepGathered || options.gatherWeights == "step";
  return step;
}

/// "FSDP 8 (4 micro-batches)".
static std::string titleOf(const Evaluation &plan,
                           const planner::ProgramFacts &facts) {
  std::string settings = planner::settingsText(plan.candidate.settings);
  return planner::usualName(plan.candidate, facts) +
         (settings.empty() ? "" : " (" + settings + ")");
}

namespace {

/// A plan of the table. Null if the target can express none.
struct Chosen {
  const Evaluation *plan = nullptr;
  int64_t rank = 0;
};

} // namespace

static Chosen chosenFor(const Target &target, const Planning &planning,
                        const planner::TermNames &names) {
  int64_t rank = 0;
  for (const Evaluation &each : planning.result.evaluations) {
    if (!each.isPlan(planning.matrix.options.memoryLimit))
      continue;
    ++rank;
    if (planner::whyNot(target, each.candidate, planning.facts, names).empty())
      return {&each, rank};
  }
  return {};
}

/// Says which plan it is, and what it costs against plan 1.
static std::vector<std::string> headOf(const Chosen &chosen,
                                       const Target &target,
                                       const Planning &planning,
                                       const planner::TermNames &names) {
  const Evaluation &plan = *chosen.plan;
  const std::string &profile = planning.matrix.options.profile;
  std::vector<std::string> head = {fmt::format(
      "Plan {}, {}: {} a step and {} a rank, {}.", chosen.rank,
      titleOf(plan, planning.facts), rt::secondsText(plan.seconds),
      rt::bytesText(double(plan.memory.total)),
      profile.empty() ? "as tpsp runs it" : "by the profile " + profile)};
  const planner::MemoryBill &memory = plan.memory;
  if (memory.profiled > 0)
    head.push_back(fmt::format(
        "By the profile {} a rank allocates {}, and reserves at least {}.",
        profile, rt::bytesText(double(memory.profiled)),
        rt::bytesText(double(memory.profiledReserved))));
  if (chosen.rank == 1)
    return head;
  const Evaluation &best = *planning.best();
  head.push_back(fmt::format(
      "Plan 1, {}, takes {}, {:.1f} % less. {}.", titleOf(best, planning.facts),
      rt::secondsText(best.seconds), 100 * (1 - best.seconds / plan.seconds),
      planner::whyNot(target, best.candidate, planning.facts, names)));
  return head;
}

const Evaluation &plantool::writtenPlan(const Options &options,
                                        const Planning &planning) {
  Chosen chosen;
  if (const Target *target = planner::findTarget(options.exported))
    chosen = chosenFor(*target, planning, readerOf(options).names);
  return chosen.plan ? *chosen.plan : *planning.best();
}

planner::Exported plantool::exportBest(const Options &options,
                                       const Planning &planning) {
  const Evaluation &best = *planning.best();
  if (options.exported == "json")
    return {planner::placementJson(best.candidate, planning.facts), {}, ""};
  const Target &target = *planner::findTarget(options.exported);
  planner::ExportOptions how;
  how.names = readerOf(options).names;
  Chosen chosen = chosenFor(target, planning, how.names);
  if (!chosen.plan) {
    std::string plan = titleOf(best, planning.facts);
    return {"",
            {},
            fmt::format("{} can express no plan of the table; plan 1 is {}: "
                        "{}. --for {} searches what it can express",
                        target.title, plan,
                        planner::whyNot(target, best.candidate, planning.facts,
                                        how.names),
                        target.name)};
  }
  how.step = stepOf(options, planning.facts);
  how.head = headOf(chosen, target, planning, how.names);
  return planner::exportPlan(target, chosen.plan->candidate, planning.facts,
                             how);
}
