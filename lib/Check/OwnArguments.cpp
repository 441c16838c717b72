#include "OwnArguments.h"

#include "Reach.h"

#include "tpsp/Abi/ElementType.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

/// Whether the ranks have values of an argument that are not those which the
/// program took.
static bool isOtherArgument(const BoundTensor &tensor) {
  const PlanBuffer &buffer = tensor.each.tensor->buffer();
  const Form &form = tensor.each.form;
  bool isPlain = form.kind != Form::Cut && form.order.empty() &&
                 form.pending.empty() && !rt::isInteger(buffer.dtype);
  return tensor.result < 0 && buffer.isArgument() && isPlain &&
         !isRight(tensor.verdict.kind) &&
         std::none_of(
             tensor.each.values.begin(), tensor.each.values.end(),
             [](const std::vector<double> &each) { return each.empty(); });
}

/// The ranks' own values of such arguments. `titles` gets their titles.
static Change otherArguments(const std::vector<BoundTensor> &tensors,
                             std::vector<std::string> &titles) {
  Change change;
  for (const BoundTensor &tensor : tensors) {
    if (!isOtherArgument(tensor))
      continue;
    RankValues own = tensor.each.values;
    if (tensor.each.form.kind == Form::Whole)
      for (int64_t rank = 0; rank < int64_t(own.size()); ++rank)
        own[rank] = tensor.each.tensor->partOf(own[rank], rank);
    change.own[tensor.each.tensor->buffer().number] =
        std::make_shared<const RankValues>(std::move(own));
    titles.push_back(tensor.verdict.title);
  }
  return change;
}

/// Sets the verdict of a result that follows from the arguments, and what it is
/// compared with from now on.
static void follow(RankValues prediction,
                   const std::vector<std::string> &titles,
                   BoundTensor &tensor) {
  double error = distance(tensor.each.values, prediction);
  if (error <= tensor.each.tolerance.relative &&
      !isRight(tensor.verdict.kind)) {
    setFollows(fmt::format("right, given what each rank has of {}",
                           fmt::join(titles, ", ")),
               prediction, error, tensor);
    tensor.verdict.isConsequence = true;
  }
  tensor.each.right = std::move(prediction);
}

Status tpsp::check::judgeByOwnArguments(Predictor &predictor,
                                        const std::vector<RankValues> &own,
                                        std::vector<BoundTensor> &tensors,
                                        Change &base) {
  std::vector<std::string> titles;
  Change change = otherArguments(tensors, titles);
  if (change.isEmpty())
    return {};
  Reach reach(predictor.plan(), change);
  auto isReached = [&](const BoundTensor &tensor) {
    return tensor.result >= 0 && tensor.verdict.kind != VerdictKind::Zero &&
           reach.contains(tensor.each.tensor->buffer());
  };
  std::vector<RankValues> results;
  TPSP_TRY(
      predictor.run(change, results, focusOn(predictor, tensors, isReached)));
  for (const BoundTensor &tensor : tensors) {
    if (!isReached(tensor) || !isRight(tensor.verdict.kind))
      continue;
    RankValues room;
    if (distance(valuesOf(tensor, own, room), predictionFor(tensor, results)) >
        tensor.each.tolerance.relative)
      return {};
  }
  base = std::move(change);
  for (BoundTensor &tensor : tensors)
    if (isReached(tensor) && !tensor.isSettled)
      follow(predictionFor(tensor, results), titles, tensor);
  return {};
}
