#include "Hypotheses.h"

#include "Candidates.h"
#include "Slices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

using namespace tpsp;
using namespace tpsp::check;

std::string tpsp::check::axesText(const rt::RankMesh &mesh,
                                  const std::vector<int64_t> &axes) {
  std::vector<std::string> names;
  for (int64_t axis : axes)
    names.push_back(mesh.axes()[axis].name);
  return fmt::format("{}", fmt::join(names, " and "));
}

namespace {

/// Tries all hypotheses on a tensor and takes the simplest one that is proven.
class Judge {
public:
  explicit Judge(const TensorCase &each)
      : each(each), mesh(*each.mesh), all(each) {}

  void run(TensorVerdict &verdict) {
    if (runWithoutHypotheses(verdict))
      return;
    addReductions(all);
    addLayouts(all);
    addUpdates(all);
    addDamages(all);
    conclude(verdict);
  }

  bool runWithoutHypotheses(TensorVerdict &verdict) {
    measure(verdict);
    if (!isRightFinite())
      judgeUnknown(verdict);
    else if (isZero())
      judgeZero(verdict);
    else if (verdict.errorOfRight <= each.tolerance.relative)
      judgeEqual(verdict);
    else if (verdict.errorOfRight <= each.tolerance.undecided)
      judgeLost(verdict);
    else
      return judgeNotFinite(verdict);
    return true;
  }

private:
  void measure(TensorVerdict &verdict) const {
    verdict.elements = 0;
    for (const std::vector<double> &values : each.values)
      verdict.elements += int64_t(values.size());
    verdict.errorOfRight = distance(each.values, each.right);
    verdict.tolerance = each.tolerance.relative;
  }

  void judgeUnknown(TensorVerdict &verdict) const {
    verdict.kind = VerdictKind::NotCompared;
    verdict.text = "the program has numbers that are not finite, which decide "
                   "nothing; look for their source with tpsp-run --verify";
  }

  /// The whole tensor is right by its norm. It may still be held otherwise than
  /// the program holds it, or have small slices that are wrong.
  void judgeEqual(TensorVerdict &verdict) const {
    verdict.kind = VerdictKind::Equal;
    verdict.error = verdict.errorOfRight;
    const Form &form = each.form;
    if (!form.isStated && (form.kind == Form::Cut || !form.order.empty())) {
      verdict.kind = VerdictKind::OtherCut;
      verdict.text = fmt::format(
          "the right numbers, {}; the program has [{}]. If that is meant, let "
          "the dump say its placement",
          form.note, each.tensor->buffer().subscripts);
      return;
    }
    judgeSlices(verdict);
  }

  void judgeSlices(TensorVerdict &verdict) const {
    if (!each.tensor || !each.rounding)
      return;
    auto whole = [&](const RankValues &values, size_t rank) {
      return wholeOf(*each.tensor, each.form, values, int64_t(rank));
    };
    std::vector<double> checked;
    for (size_t rank = 0; rank < each.values.size(); ++rank) {
      // A tensor of which ranks lack parts cannot be put together.
      if (!isComplete(*each.tensor, each.form, each.values, int64_t(rank)))
        continue;
      std::vector<double> has = whole(each.values, rank);
      // Copies are mostly equal, and are judged once.
      if (has == checked)
        continue;
      std::optional<WrongSlices> wrong =
          wrongSlices(has, whole(each.right, rank), *each.rounding,
                      each.tensor->buffer().shape, each.tolerance);
      if (wrong)
        return describe(*wrong, rank, verdict);
      checked = std::move(has);
    }
  }

  void describe(const WrongSlices &wrong, size_t rank,
                TensorVerdict &verdict) const {
    const std::vector<int64_t> &at = wrong.positions;
    verdict.kind = VerdictKind::Rows;
    verdict.text = fmt::format(
        "right but for {} of {} positions along {} ({}{}), first on rank {}: "
        "they are small beside the others, and wrong by more than rounding",
        at.size(), each.tensor->buffer().shape[wrong.dim],
        indexNamesOf(each.tensor->buffer())[wrong.dim], at.front(),
        at.size() > 1 ? fmt::format(" to {}", at.back()) : "", rank);
  }

  /// Numbers that are not finite, if the right ones are, need no hypothesis.
  bool judgeNotFinite(TensorVerdict &verdict) const {
    int64_t count = 0;
    size_t first = 0;
    for (size_t rank = 0; rank < each.values.size(); ++rank)
      for (double value : each.values[rank])
        if (!std::isfinite(value) && ++count == 1)
          first = rank;
    if (count == 0)
      return false;
    verdict.kind = VerdictKind::Wrong;
    verdict.text = fmt::format("wrong: {} elements are not finite, first on "
                               "rank {}",
                               count, first);
    verdict.error = verdict.nextError = verdict.errorOfRight;
    verdict.next = "right";
    return true;
  }

  bool isRightFinite() const {
    for (const std::vector<double> &values : each.right)
      for (double value : values)
        if (!std::isfinite(value))
          return false;
    return true;
  }

  /// Whether what is right is nothing but rounding.
  bool isZero() const {
    double right = rootMeanSquare(each.right);
    return right == 0 || right < 1e-3 * each.tolerance.absolute;
  }

  /// Rounding leaves the tensor too few correct digits.
  void judgeLost(TensorVerdict &verdict) const {
    verdict.kind = VerdictKind::Zero;
    verdict.error = verdict.errorOfRight;
    verdict.text = fmt::format(
        "lost in rounding, which is {:.2g} of its size, and its error {:.2g}: "
        "this decides nothing; a run in a wider type does",
        each.tolerance.absolute / rootMeanSquare(each.right),
        verdict.errorOfRight);
  }

  void judgeZero(TensorVerdict &verdict) {
    constexpr double most = 64;
    double has = rootMeanSquare(each.values);
    bool isRight = has <= most * each.tolerance.absolute;
    verdict.kind = isRight ? VerdictKind::Zero : VerdictKind::Wrong;
    verdict.text =
        isRight ? "zero but for rounding, which decides nothing"
                : fmt::format("should be zero, and is {:.2g} in size", has);
    verdict.error = has;
  }

  void conclude(TensorVerdict &verdict) {
    std::stable_sort(
        all.list.begin(), all.list.end(),
        [&](const Candidate &a, const Candidate &b) {
          return std::tuple(!all.isProven(a), int(a.kind), a.weight) <
                 std::tuple(!all.isProven(b), int(b.kind), b.weight);
        });
    verdict.kind = VerdictKind::Wrong;
    verdict.text = "wrong";
    verdict.error = verdict.errorOfRight;
    if (!all.list.empty() && all.isProven(all.list.front()))
      accept(all.list.front(), verdict);
    findNext(verdict);
    if (verdict.kind == VerdictKind::Wrong)
      describeCloseness(verdict);
  }

  bool hasMicroBatches() const {
    return std::any_of(each.sources.begin(), each.sources.end(),
                       [](const FactorSource &source) {
                         return source.name == microBatchesText;
                       });
  }

  /// A small error without a pattern is mostly that of a narrower type.
  void describeCloseness(TensorVerdict &verdict) const {
    constexpr double small = 0.05;
    if (verdict.errorOfRight > small)
      return;
    verdict.text = fmt::format(
        "nearly right: the error is {:.2g}, and rounding explains {:.2g}; did "
        "the run compute in a narrower type (--dtype bf16, TF32){}",
        verdict.errorOfRight, each.tolerance.relative,
        hasMicroBatches() ? ", or divide the loss of each micro-batch by its "
                            "own count (a mean of means)"
                          : "");
  }

  Claim claimOf(const Candidate &candidate) const {
    Claim claim{candidate.kind, candidate.text, {}, candidate.factor};
    for (int64_t axis : candidate.axes)
      claim.axes.push_back(mesh.axes()[axis].name);
    return claim;
  }

  void accept(const Candidate &candidate, TensorVerdict &verdict) {
    static_cast<Claim &>(verdict) = claimOf(candidate);
    verdict.isUnexplained = candidate.isUnexplained;
    verdict.error = candidate.error;
    RankValues scaled = candidate.prediction;
    for (std::vector<double> &values : scaled)
      for (double &value : values)
        value *= candidate.factor;
    verdict.distinguishing =
        distinguishing(each.values, scaled.empty() ? each.values : scaled,
                       each.right, each.tolerance);
    std::set<std::string> said = {candidate.text};
    for (const Candidate &other : all.list)
      if (all.isProven(other) && other.kind < VerdictKind::Rows &&
          said.insert(other.text).second)
        verdict.alternatives.push_back(claimOf(other));
  }

  /// The best of the hypotheses that the numbers exclude.
  void findNext(TensorVerdict &verdict) const {
    verdict.nextError = verdict.errorOfRight;
    verdict.next = "right";
    for (const Candidate &candidate : all.list)
      if (!all.isProven(candidate) && candidate.error < verdict.nextError) {
        verdict.nextError = candidate.error;
        verdict.next = candidate.text;
      }
  }

  const TensorCase &each;
  const rt::RankMesh &mesh;
  Candidates all;
};

} // namespace

void tpsp::check::judge(const TensorCase &each, TensorVerdict &verdict) {
  Judge(each).run(verdict);
}

bool tpsp::check::judgeWithoutHypotheses(const TensorCase &each,
                                         TensorVerdict &verdict) {
  return Judge(each).runWithoutHypotheses(verdict);
}
