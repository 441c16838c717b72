#include "HypothesisTrial.h"

#include "CauseSearch.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

/// Whether the dump has a tensor in the form in which ranks have the result.
static bool isOwnPart(const BoundTensor &tensor) {
  const Form &form = tensor.each.form;
  return form.kind == Form::Part && form.order.empty() &&
         tensor.each.tensor->buffer().pending.empty();
}

HypothesisTrial::HypothesisTrial(const Plan &plan,
                                 const std::vector<BoundTensor> &tensors,
                                 const std::vector<RankValues> &own,
                                 const Change &change, size_t fewest)
    : tensors(tensors), own(own), fewest(fewest),
      fates(tensors.size(), Fate::Unreached), isSeen(tensors.size(), false),
      squares(tensors.size()) {
  Reach reach(plan, change);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BoundTensor &tensor = tensors[i];
    // A tensor that follows from an earlier cause may be anything under this
    // one.
    if (tensor.result < 0 || tensor.verdict.kind == VerdictKind::Follows ||
        tensor.verdict.kind == VerdictKind::Zero ||
        !reach.contains(tensor.each.tensor->buffer()))
      continue;
    fates[i] = Fate::Untried;
    isSeen[i] = isOwnPart(tensor);
    squares[i].resize(tensor.each.mesh->numRanks());
  }
}

Status HypothesisTrial::run(Predictor &predictor, const Change &change) {
  RunFocus focus;
  focus.results.assign(predictor.results().size(), false);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (fates[i] == Fate::Untried)
      focus.results[tensors[i].result] = true;
  if (predictor.canBeWatched())
    focus.watch = this;
  else
    isSeen.assign(tensors.size(), false);
  std::vector<RankValues> results;
  TPSP_TRY(predictor.run(change, results, focus));
  if (isCause())
    finish(results);
  return {};
}

bool HypothesisTrial::isCause() const {
  size_t possible = 0, open = 0, shared = 0, sharedPossible = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BoundTensor &tensor = tensors[i];
    bool mayFit = fates[i] == Fate::Fits || fates[i] == Fate::Untried;
    shared += tensor.result >= 0 && tensor.sharesFactor;
    if (tensor.verdict.kind == VerdictKind::Equal) {
      if (fates[i] == Fate::Differs)
        return false;
      continue;
    }
    possible += mayFit;
    open += mayFit && isOpen(tensor) && !tensor.sharesFactor;
    sharedPossible += mayFit && tensor.sharesFactor;
  }
  return possible >= fewest &&
         (open > 0 || (shared > 0 && sharedPossible == shared));
}

std::vector<size_t> HypothesisTrial::explained() const {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < tensors.size(); ++i)
    if (fates[i] == Fate::Fits && tensors[i].verdict.kind != VerdictKind::Equal)
      numbers.push_back(i);
  return numbers;
}

bool HypothesisTrial::sees(size_t result) const {
  bool isSome = false;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (fates[i] == Fate::Unreached || tensors[i].result != int64_t(result))
      continue;
    if (!isSeen[i])
      return false;
    isSome = true;
  }
  return isSome;
}

void HypothesisTrial::see(size_t result, int64_t rank,
                          std::vector<double> part) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BoundTensor &tensor = tensors[i];
    if (fates[i] != Fate::Untried || tensor.result != int64_t(result))
      continue;
    // The dump has the step's own values of a tensor that is settled.
    const std::vector<double> &values =
        (tensor.isSettled ? own[result] : tensor.each.values)[rank];
    if (!values.empty())
      squares[i][rank] = squaresOf(values, part);
  }
}

bool HypothesisTrial::goesOn(size_t result) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (fates[i] != Fate::Untried || tensors[i].result != int64_t(result))
      continue;
    const RankValues &values =
        tensors[i].isSettled ? own[result] : tensors[i].each.values;
    std::vector<Squares> ranks;
    for (size_t rank = 0; rank < values.size(); ++rank)
      if (!values[rank].empty())
        ranks.push_back(squares[i][rank]);
    settle(i, distanceOf(ranks) <= tensors[i].each.tolerance.relative);
  }
  return isCause();
}

void HypothesisTrial::settle(size_t number, bool isFit) {
  fates[number] = isFit ? Fate::Fits : Fate::Differs;
}

RankValues HypothesisTrial::valuesOf(const BoundTensor &tensor) const {
  return tensor.isSettled ? predictionFor(tensor, own) : tensor.each.values;
}

void HypothesisTrial::finish(const std::vector<RankValues> &results) {
  for (size_t i = 0; i < tensors.size(); ++i)
    if (fates[i] == Fate::Untried)
      settle(i, distance(valuesOf(tensors[i]),
                         predictionFor(tensors[i], results)) <=
                    tensors[i].each.tolerance.relative);
}
