#include "CauseSearch.h"

#include "HypothesisTrial.h"
#include "Reach.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

bool tpsp::check::isOpen(const BoundTensor &tensor) {
  // A step that leaves the tensor as it is would explain it.
  if (tensor.verdict.errorOfRight <= tensor.each.tolerance.relative)
    return false;
  // Updates on parts are a cause of their own.
  if (tensor.verdict.kind == VerdictKind::OtherAxes &&
      !tensor.each.localUpdates.empty() && !tensor.verdict.axes.empty())
    return false;
  switch (tensor.verdict.kind) {
  case VerdictKind::Wrong:
  case VerdictKind::Copies:
  case VerdictKind::Rows:
  case VerdictKind::Term:
    return true;
  case VerdictKind::Missing:
  case VerdictKind::Factor:
  case VerdictKind::OtherAxes:
  case VerdictKind::OtherShard:
  case VerdictKind::OtherCut:
    return tensor.verdict.isUnexplained || tensor.each.reduced.empty();
  default:
    return false;
  }
}

void tpsp::check::nameRow(const LedgerRow &row, TensorVerdict &verdict) {
  verdict.collective = rowText(row);
  verdict.rule = ruleOf(row);
  verdict.location = row.location;
  verdict.collectiveAxes = row.axes;
}

/// Whether a tensor's own values explain it.
static bool isExplained(const BoundTensor &tensor) {
  switch (tensor.verdict.kind) {
  case VerdictKind::Missing:
  case VerdictKind::Factor:
  case VerdictKind::OtherAxes:
  case VerdictKind::OtherShard:
  case VerdictKind::OtherCut:
    return !tensor.verdict.isUnexplained && !tensor.sharesFactor;
  default:
    return false;
  }
}

bool CauseSearch::isWorthTrying(const StepHypothesis &hypothesis) const {
  Reach reach(plan, hypothesis.change);
  bool reachesOpen = false, reachesRight = false, allExplained = true;
  for (const BoundTensor &tensor : tensors) {
    if (tensor.result < 0)
      continue;
    bool isReached = reach.contains(tensor.each.tensor->buffer());
    bool isToExplain = isOpen(tensor) || tensor.sharesFactor;
    reachesOpen |= isReached && isToExplain;
    reachesRight |= isReached && tensor.verdict.kind == VerdictKind::Equal;
    allExplained &= !isToExplain || isExplained(tensor);
  }
  return reachesOpen && !(allExplained && reachesRight);
}

/// The base with a change on top of it.
static Change onTop(const Change &base, const Change &change) {
  Change both = base;
  both.add(change);
  return both;
}

Status CauseSearch::findAmong(std::vector<StepHypothesis> hypotheses,
                              const Change &base, std::vector<Found> &found) {
  // The steps of later ones end early if the first ones explain much.
  std::stable_sort(hypotheses.begin(), hypotheses.end(),
                   [](const StepHypothesis &a, const StepHypothesis &b) {
                     return a.weight < b.weight;
                   });
  size_t most = 1;
  for (StepHypothesis &each : hypotheses) {
    if (!isWorthTrying(each))
      continue;
    if (predictor.runs() - firstRun >= settings.mostRuns) {
      noteBudget();
      break;
    }
    if (settings.progress)
      settings.progress("if " + each.text);
    HypothesisTrial trial(plan, tensors, own, each.change, most);
    TPSP_TRY(trial.run(predictor, onTop(base, each.change)));
    if (!trial.isCause())
      continue;
    std::vector<size_t> explained = trial.explained();
    if (explained.size() > most)
      found.clear();
    most = explained.size();
    found.push_back({std::move(each), std::move(explained)});
  }
  return {};
}

Status CauseSearch::find(const Change &base, StepHypothesis &best) {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  for (bool ofSingleRows : {false, true}) {
    std::vector<Found> found;
    TPSP_TRY(findAmong(hypothesesOf(plan, mesh, ofSingleRows), base, found));
    if (found.empty())
      continue;
    // A hypothesis that explains other tensors is another cause.
    std::vector<StepHypothesis> alike;
    for (Found &each : found)
      if (each.explained == found.front().explained)
        alike.push_back(std::move(each.hypothesis));
    best = alike.front();
    return accept(base, alike);
  }
  return {};
}

void CauseSearch::noteBudget() {
  std::string note = fmt::format(
      "after {} steps no more hypotheses were tried; --runs allows more",
      settings.mostRuns);
  if (std::find(report.notes.begin(), report.notes.end(), note) ==
      report.notes.end())
    report.notes.push_back(note);
}

Status CauseSearch::accept(const Change &base,
                           const std::vector<StepHypothesis> &found) {
  const Change &change = found.front().change;
  Reach reach(plan, change);
  auto isAsked = [&](const BoundTensor &tensor) {
    return tensor.result >= 0 && !isRight(tensor.verdict.kind) &&
           tensor.verdict.kind != VerdictKind::Follows &&
           reach.contains(tensor.each.tensor->buffer());
  };
  std::vector<RankValues> results;
  TPSP_TRY(predictor.run(onTop(base, change), results,
                         focusOn(predictor, tensors, isAsked)));
  for (BoundTensor &tensor : tensors) {
    if (!isAsked(tensor))
      continue;
    RankValues prediction = predictionFor(tensor, results);
    double error = distance(tensor.each.values, prediction);
    if (error <= tensor.each.tolerance.relative)
      accept(found, prediction, error, tensor);
  }
  return {};
}

/// Whether a prediction is so far from the values that it excludes no better
/// one. That may be the right values but for a few positions.
static bool isCoarse(double error, const BoundTensor &tensor) {
  constexpr double share = 0.25;
  return error > share * tensor.each.tolerance.relative;
}

void CauseSearch::accept(const std::vector<StepHypothesis> &found,
                         const RankValues &prediction, double error,
                         BoundTensor &tensor) const {
  const StepHypothesis &best = found.front();
  TensorVerdict &verdict = tensor.verdict;
  Claim before = verdict;
  setFollows(best.text, prediction, error, tensor);
  for (size_t i = 1; i < found.size(); ++i)
    verdict.alternatives.push_back(
        {VerdictKind::Follows, found[i].text, {}, 1});
  // A multiple of an update may also be one of the gradient.
  bool isMultipleOfUpdate =
      before.kind == VerdictKind::OtherAxes && !tensor.each.before.empty();
  if (isMultipleOfUpdate ||
      (before.kind == VerdictKind::Rows && isCoarse(error, tensor)))
    verdict.alternatives.push_back(std::move(before));
  if (best.row >= 0)
    nameRow(plan.ledger[best.row], verdict);
}
