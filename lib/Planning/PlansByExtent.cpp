#include "tpsp/Planning/PlansByExtent.h"
#include "tpsp/Abi/TextTable.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;
using rt::bytesText;
using rt::secondsText;

llvm::Expected<ExtentRange> tpsp::parseExtentRange(llvm::StringRef text) {
  ExtentRange range;
  auto [index, extents] = text.split('=');
  range.index = index.str();
  auto [first, last] = extents.split(':');
  bool isWhole = !text.contains('=');
  bool isRange = !isWhole && !first.getAsInteger(10, range.first) &&
                 !last.getAsInteger(10, range.last) && range.first >= 1 &&
                 range.last >= range.first;
  if (index.empty() || !(isWhole || isRange))
    return llvm::createStringError(
        "--along: expected an index, or index=first:last with extents of at "
        "least 1, such as s=1024:131072, not '" +
        text + "'");
  return range;
}

const Evaluation *ExtentPlan::best() const {
  return planning ? planning->best() : nullptr;
}

std::string ExtentPlan::subscripts() const {
  return best() ? subscriptText(best()->candidate, planning->facts) : "";
}

namespace {

class ExtentPlanner {
public:
  ExtentPlanner(mlir::MLIRContext &context, const PlanningRequest &request,
                const ExtentProgress &progress)
      : context(context), request(request), progress(progress) {}

  llvm::Expected<PlansByExtent> run(ExtentRange range) {
    result.index = range.index;
    if (llvm::Error error = findRange(range))
      return error;
    for (int64_t extent = range.first; extent <= range.last; extent *= 2)
      result.plans.push_back(planAt(extent));
    constexpr int halvings = 3;
    for (int i = 0; i < halvings; ++i)
      halve();
    for (size_t i = 1; i < result.plans.size(); ++i)
      if (differ(result.plans[i - 1], result.plans[i]))
        result.changes.push_back(
            changeBetween(result.plans[i - 1], result.plans[i]));
    return std::move(result);
  }

private:
  /// Fills in a range without extents.
  llvm::Error findRange(ExtentRange &range) {
    auto program = PlannedProgram::read(context, request.evaluator.path,
                                        request.evaluator.readOptions());
    if (!program)
      return program.takeError();
    const ProgramFacts &facts = (*program)->facts();
    std::optional<ClassId> id = facts.find(range.index);
    if (!id)
      return llvm::createStringError("--along: the program has no index '" +
                                     range.index + "'");
    if (range.first > 0)
      return llvm::Error::success();
    int64_t own = facts.classes[*id].extent;
    range.last = 8 * own;
    range.first = own;
    while (range.first % 2 == 0 && range.first * 8 > own)
      range.first /= 2;
    return llvm::Error::success();
  }

  PlanningRequest requestAt(int64_t extent) const {
    PlanningRequest here = request;
    std::vector<std::string> &extents = here.evaluator.compile.extents;
    llvm::erase_if(extents, [&](const std::string &entry) {
      return llvm::StringRef(entry).split('=').first == result.index;
    });
    extents.push_back(result.index + "=" + std::to_string(extent));
    return here;
  }

  ExtentPlan planAt(int64_t extent) {
    ExtentPlan plan;
    plan.extent = extent;
    auto planning =
        planProgram(context, requestAt(extent),
                    [&](const SearchState &state) { progress(extent, state); });
    if (planning)
      plan.planning = std::move(*planning);
    else
      plan.problem = llvm::toString(planning.takeError());
    return plan;
  }

  static bool differ(const ExtentPlan &a, const ExtentPlan &b) {
    return a.best() && b.best() && a.subscripts() != b.subscripts();
  }

  /// Whether the plan's axes divide the extent.
  bool divides(const ExtentPlan &plan, int64_t extent) const {
    std::optional<ClassId> id = plan.planning->facts.find(result.index);
    int64_t parts = plan.best()->candidate.settings.microBatches;
    for (const CandidateAxis &axis : plan.best()->candidate.axes)
      if (id && axis.use.isOn(*id))
        parts *= axis.size;
    return extent % parts == 0;
  }

  /// Adds an extent between neighbours whose best plans differ.
  void halve() {
    std::vector<ExtentPlan> all;
    for (ExtentPlan &plan : result.plans) {
      if (!all.empty() && differ(all.back(), plan)) {
        int64_t middle = (all.back().extent + plan.extent) / 2;
        if (middle > all.back().extent && divides(all.back(), middle) &&
            divides(plan, middle))
          all.push_back(planAt(middle));
      }
      all.push_back(std::move(plan));
    }
    result.plans = std::move(all);
  }

  /// Evaluates the best plan of another extent at this extent. It is composed
  /// or whole, as the best plan here is.
  Evaluation evaluateAt(const ExtentPlan &here, const ExtentPlan &other) const {
    CandidateEvaluatorOptions options = requestAt(here.extent).evaluator;
    options.compile.hardware = here.planning->matrix.options.hardware;
    std::unique_ptr<Evaluator> evaluator = candidateEvaluators(options)();
    const Candidate &candidate = other.best()->candidate;
    return here.best()->isComposed ? evaluator->evaluate(candidate)
                                   : evaluator->evaluateWhole(candidate);
  }

  PlanChange changeBetween(const ExtentPlan &below,
                           const ExtentPlan &above) const {
    return {{below.extent, *below.best(), evaluateAt(below, above)},
            {above.extent, evaluateAt(above, below), *above.best()}};
  }

  mlir::MLIRContext &context;
  const PlanningRequest &request;
  const ExtentProgress &progress;
  PlansByExtent result;
};

} // namespace

llvm::Expected<PlansByExtent>
tpsp::planByExtent(mlir::MLIRContext &context, const PlanningRequest &request,
                   const ExtentRange &range, const ExtentProgress &progress) {
  return ExtentPlanner(context, request, progress).run(range);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string fullName(const Evaluation &plan, const ProgramFacts &facts) {
  std::string settings = settingsText(plan.candidate.settings);
  return usualName(plan.candidate, facts) +
         (settings.empty() ? "" : ", " + settings);
}

static std::vector<std::string> cellsOf(const ExtentPlan &plan) {
  const Evaluation *best = plan.best();
  if (!best) {
    std::string why = !plan.planning ? plan.problem
                                     : nothingFits(plan.planning->matrix,
                                                   plan.planning->wouldFit);
    return {std::to_string(plan.extent), "none: " + why};
  }
  const ProgramFacts &facts = plan.planning->facts;
  const MatrixRow &first = plan.planning->matrix.rows.front();
  return {std::to_string(plan.extent),
          fullName(*best, facts),
          secondsText(best->seconds),
          fmt::format("{:.0f}", first.tokensPerSecond),
          bytesText(double(best->memory.total)),
          plan.subscripts()};
}

/// "301 ms", "does not fit: over by 3.1 GiB", or why it is illegal.
static std::string verdict(const Evaluation &plan, int64_t limit) {
  if (!plan.isLegal())
    return "illegal (" + plan.refusal + ")";
  if (plan.memory.total > limit)
    return "over by " + bytesText(double(plan.memory.total - limit));
  return secondsText(plan.seconds);
}

static std::string changeText(const PlanChange &change,
                              const std::string &index,
                              const ProgramFacts &facts, int64_t limit) {
  std::string before = fullName(change.below.before, facts),
              after = fullName(change.above.after, facts);
  auto side = [&](const PlanChange::Side &at) {
    return fmt::format("  at {} = {}: {} {}, {} {}\n", index, at.extent, before,
                       verdict(at.before, limit), after,
                       verdict(at.after, limit));
  };
  return fmt::format("{} from {} = {} on, in place of {}\n", after, index,
                     change.above.extent, before) +
         side(change.below) + side(change.above);
}

std::string tpsp::toText(const PlansByExtent &plans) {
  auto any = llvm::find_if(plans.plans, [](const ExtentPlan &plan) {
    return plan.planning != nullptr;
  });
  std::string text;
  if (any != plans.plans.end()) {
    const MatrixOptions &options = any->planning->matrix.options;
    text = fmt::format("The best plans for {} on {} devices of {}, {} each, "
                       "along {}\n\n",
                       options.program, options.devices, options.hardware,
                       bytesText(double(options.memoryLimit)), plans.index);
  }
  TextTable table("rlrrrl");
  table.add({plans.index, "plan", "step", "tokens/s", "memory", "subscripts"});
  for (const ExtentPlan &plan : plans.plans)
    table.add(cellsOf(plan));
  text += table.text() + "\n";
  for (const PlanChange &change : plans.changes)
    text += changeText(change, plans.index, any->planning->facts,
                       any->planning->matrix.options.memoryLimit);
  return text;
}
