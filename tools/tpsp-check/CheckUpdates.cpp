#include "CheckUpdates.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::checktool;
using namespace tpsp::check;
using rt::Status;
using tool::CompileUse;
using tool::Progress;

Status tpsp::checktool::namesOfUpdate(const Options &options,
                                      Progress &progress,
                                      std::set<std::string> &out) {
  tool::Program program;
  TPSP_TRY(tool::openProgram(compiledAs(options, true, true), CompileUse(),
                             /*speaks=*/false, progress, program));
  for (const PlanBuffer &tensor : program.plan().tensors())
    if (tensor.isArgument() &&
        (tensor.kind == BufferKind::State || tensor.isScalar))
      out.insert(tensor.name);
  return {};
}

/// Whether a verdict says no more than that a new parameter is wrong.
static bool isUnexplained(const TensorVerdict &verdict) {
  return verdict.kind == VerdictKind::Wrong ||
         verdict.kind == VerdictKind::Copies ||
         verdict.kind == VerdictKind::Rows;
}

/// Takes the verdicts of a check with further optimizer axes where they explain
/// more.
static void takeExplained(const CheckReport &other, const std::string &axis,
                          CheckReport &report) {
  for (TensorVerdict &verdict : report.tensors)
    for (const TensorVerdict &found : other.tensors)
      if (found.title == verdict.title && isUnexplained(verdict) &&
          found.kind == VerdictKind::OtherAxes) {
        verdict = found;
        report.notes.push_back(
            fmt::format("{} is explained by a step whose optimizer's state {} "
                        "divides (--optimizer-axes)",
                        verdict.title, axis));
      }
}

/// If the gradient itself is right, a mistake of the update explains more than
/// one of the gradient's collectives.
static void preferUpdate(const CheckReport &report, TensorVerdict &verdict) {
  DumpRole role;
  std::string name;
  parseTitle(verdict.title, role, name);
  auto isRightGradient = [&](const TensorVerdict &each) {
    return each.title == "grad:" + name && each.kind == VerdictKind::Equal;
  };
  auto ofUpdate = std::find_if(
      verdict.alternatives.begin(), verdict.alternatives.end(),
      [](const Claim &each) { return each.kind == VerdictKind::OtherAxes; });
  if (verdict.kind == VerdictKind::Follows &&
      ofUpdate != verdict.alternatives.end() &&
      std::any_of(report.tensors.begin(), report.tensors.end(),
                  isRightGradient))
    std::swap(static_cast<Claim &>(verdict), *ofUpdate);
}

Status tpsp::checktool::checkWithAxes(
    const Options &options,
    const std::function<Status(const Options &, CheckReport &)> &check,
    const CheckReport &report, CheckReport &out) {
  TPSP_TRY(check(options, out));
  for (const MeshAxis &axis : std::vector<MeshAxis>(out.mesh)) {
    const std::vector<std::string> &axes = options.optimizerAxes;
    if (options.optimizer == "none" || axis.size == 1 ||
        axis.role == AxisRole::Stage ||
        std::count(axes.begin(), axes.end(), axis.name) ||
        std::none_of(out.tensors.begin(), out.tensors.end(), isUnexplained))
      continue;
    Options further = options;
    further.optimizerAxes.push_back(axis.name);
    further.quiet = true;
    CheckReport found;
    if (check(further, found).ok())
      takeExplained(found, axis.name, out);
  }
  for (TensorVerdict &verdict : out.tensors)
    preferUpdate(report, verdict);
  return {};
}

Status tpsp::checktool::checkUpdates(const Options &options, const Dump &all,
                                     const Dump &updated, Progress &progress,
                                     CheckReport &report) {
  bool updates = options.optimizer != "none";
  CheckReport found;
  auto check = [&](const Options &own, CheckReport &out) {
    return checkPart(own, all, updated, updates, {}, progress, out);
  };
  TPSP_TRY(checkWithAxes(options, check, report, found));
  report.add(std::move(found));
  return {};
}
