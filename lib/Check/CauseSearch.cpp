#include "CauseSearch.h"

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

Status CauseSearch::run(const Change &base, const Change &change,
                        std::vector<RankValues> &results) {
  Change both = base;
  both.add(change);
  return predictor.run(both, results);
}

CauseSearch::Score
CauseSearch::scoreOf(const std::vector<RankValues> &results) const {
  Score score;
  for (size_t number = 0; number < tensors.size(); ++number) {
    const BoundTensor &tensor = tensors[number];
    // A tensor that follows from an earlier cause may be anything under this
    // one.
    if (tensor.result < 0 || tensor.verdict.kind == VerdictKind::Follows ||
        tensor.verdict.kind == VerdictKind::Zero)
      continue;
    // The dump has the step's own values of a tensor that is settled.
    bool isFit = distance(tensor.isSettled ? predictionFor(tensor, own)
                                           : tensor.each.values,
                          predictionFor(tensor, results)) <=
                 tensor.each.tolerance.relative;
    bool isRightNow = tensor.verdict.kind == VerdictKind::Equal;
    if (isFit && !isRightNow)
      score.explained.push_back(number);
    score.open += isFit && isOpen(tensor) && !tensor.sharesFactor;
    score.shared += tensor.sharesFactor;
    score.sharedExplained += isFit && tensor.sharesFactor;
    score.contradicts |= !isFit && isRightNow;
  }
  return score;
}

Status CauseSearch::findAmong(std::vector<StepHypothesis> hypotheses,
                              const Change &base, std::vector<Found> &found) {
  size_t most = 0;
  for (StepHypothesis &each : hypotheses) {
    if (!isWorthTrying(each))
      continue;
    if (predictor.runs() - firstRun >= settings.mostRuns) {
      noteBudget();
      break;
    }
    if (settings.progress)
      settings.progress("if " + each.text);
    std::vector<RankValues> results;
    TPSP_TRY(run(base, each.change, results));
    Score score = scoreOf(results);
    if (!score.isCause() || score.explained.size() < most)
      continue;
    if (score.explained.size() > most)
      found.clear();
    most = score.explained.size();
    found.push_back({std::move(each), std::move(score.explained)});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Found &a, const Found &b) {
                     return a.hypothesis.weight < b.hypothesis.weight;
                   });
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
  std::vector<RankValues> results;
  TPSP_TRY(run(base, found.front().change, results));
  for (BoundTensor &tensor : tensors) {
    if (tensor.result < 0 || isRight(tensor.verdict.kind) ||
        tensor.verdict.kind == VerdictKind::Follows)
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
  static_cast<Claim &>(verdict) = {VerdictKind::Follows, best.text, {}, 1};
  verdict.isUnexplained = false;
  tensor.sharesFactor = false;
  verdict.alternatives.clear();
  for (size_t i = 1; i < found.size(); ++i)
    verdict.alternatives.push_back(
        {VerdictKind::Follows, found[i].text, {}, 1});
  // A multiple of an update may also be one of the gradient.
  bool isMultipleOfUpdate =
      before.kind == VerdictKind::OtherAxes && !tensor.each.before.empty();
  if (isMultipleOfUpdate ||
      (before.kind == VerdictKind::Rows && isCoarse(error, tensor)))
    verdict.alternatives.push_back(std::move(before));
  verdict.error = error;
  verdict.nextError = verdict.errorOfRight;
  verdict.next = "right";
  verdict.distinguishing = distinguishing(
      tensor.each.values, prediction, tensor.each.right, tensor.each.tolerance);
  verdict.collective.clear();
  verdict.rule.clear();
  verdict.collectiveAxes.clear();
  if (best.row >= 0)
    nameRow(plan.ledger[best.row], verdict);
}
