#include "HypothesisTrial.h"

#include "CauseSearch.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

HypothesisTrial::HypothesisTrial(const Plan &plan,
                                 const std::vector<BoundTensor> &tensors,
                                 const std::vector<RankValues> &own,
                                 const Change &change, size_t fewest)
    : tensors(tensors), own(own), fewest(int64_t(fewest)),
      fates(tensors.size(), Fate::Unreached), isSeen(tensors.size(), false),
      squares(tensors.size()) {
  Reach reach(plan, change);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const BoundTensor &tensor = tensors[i];
    shared += tensor.result >= 0 && tensor.sharesFactor;
    // A tensor that follows from an earlier cause may be anything under this
    // one.
    if (tensor.result < 0 || tensor.verdict.kind == VerdictKind::Follows ||
        tensor.verdict.kind == VerdictKind::Zero ||
        !reach.contains(tensor.each.tensor->buffer()))
      continue;
    fates[i] = Fate::Untried;
    isSeen[i] = isOwnPart(tensor);
    squares[i].resize(tensor.each.mesh->numRanks());
    ofResult[tensor.result].push_back(i);
    count(tensor, 1);
  }
}

void HypothesisTrial::count(const BoundTensor &tensor, int64_t one) {
  if (tensor.verdict.kind == VerdictKind::Equal)
    return;
  possible += one;
  open += isOpen(tensor) && !tensor.sharesFactor ? one : 0;
  sharedPossible += tensor.sharesFactor ? one : 0;
}

Status HypothesisTrial::run(Predictor &predictor, const Change &change) {
  auto isUntried = [&](const BoundTensor &tensor) {
    return fates[&tensor - tensors.data()] == Fate::Untried;
  };
  RunFocus focus = focusOn(predictor, tensors, isUntried);
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
  return !isContradicted && possible >= fewest &&
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
  auto found = ofResult.find(int64_t(result));
  return found != ofResult.end() &&
         std::all_of(found->second.begin(), found->second.end(),
                     [&](size_t number) { return isSeen[number]; });
}

void HypothesisTrial::see(size_t result, int64_t rank,
                          std::vector<double> part) {
  for (size_t i : ofResult.at(int64_t(result))) {
    RankValues room;
    const std::vector<double> &values = valuesOf(tensors[i], own, room)[rank];
    if (!values.empty())
      squares[i][rank] = squaresOf(values, part);
  }
}

bool HypothesisTrial::goesOn(size_t result) {
  for (size_t i : ofResult.at(int64_t(result))) {
    RankValues room;
    const RankValues &values = valuesOf(tensors[i], own, room);
    std::vector<Squares> ranks;
    for (size_t rank = 0; rank < values.size(); ++rank)
      if (!values[rank].empty())
        ranks.push_back(squares[i][rank]);
    settle(i, distanceOf(ranks));
  }
  return isCause();
}

void HypothesisTrial::settle(size_t number, double distance) {
  const BoundTensor &tensor = tensors[number];
  bool isFit = distance <= tensor.each.tolerance.relative;
  fates[number] = isFit ? Fate::Fits : Fate::Differs;
  if (isFit)
    return;
  isContradicted |= tensor.verdict.kind == VerdictKind::Equal;
  count(tensor, -1);
}

void HypothesisTrial::finish(const std::vector<RankValues> &results) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    RankValues room;
    if (fates[i] == Fate::Untried)
      settle(i, distance(valuesOf(tensors[i], own, room),
                         predictionFor(tensors[i], results)));
  }
}
