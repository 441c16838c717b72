#include "Losses.h"
#include "Operators.h"
#include "Refusal.h"

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

/// The mean or the sum of the losses. With `targets`, the mean is over the
/// positions whose target counts.
static Tensor combined(Builder &build, Tensor losses, Reduction how,
                       const std::optional<Tensor> &targets = {}) {
  if (how == Reduction::None)
    return losses;
  size_t rank = losses.dims.size();
  std::vector<Tensor> operands = {build.materialized(losses)};
  bool isMean = how == Reduction::Mean;
  if (isMean && targets)
    operands.push_back(*targets);
  bool isOne = build.atomsOf(losses.dims).empty();
  if (!isOne || operands.size() > 1) {
    Attributes attributes;
    if (!isMean)
      attributes["kind"] = std::string("sum");
    losses = build.emit(isMean ? "mean" : "reduce", operands, Dims(rank),
                        losses.type, attributes);
  }
  losses.dims.clear();
  return losses;
}

Tensor torch::crossEntropy(Builder &build, Tensor x, Tensor targets,
                           size_t classes, Reduction how) {
  x = build.single(x, classes);
  Dims dims = x.dims;
  dims.erase(dims.begin() + static_cast<int64_t>(classes));
  build.broadcastAlign(dims, targets);
  Atom over = build.program.atoms.leaves(x.dims[classes]).front();
  for (Atom leaf : build.atomsOf(dims))
    build.program.atoms.keepApart({leaf, over});
  x = build.materialized(x);
  targets = build.materialized(targets);
  Tensor losses = build.emit("cross_entropy", {x, targets}, dims, x.type,
                             {{"over", IndexAttribute{{over}}}});
  return combined(build, losses, how, targets);
}

Tensor torch::squaredError(Builder &build, const Tensor &x,
                           const Tensor &targets, Reduction how) {
  Tensor difference = build.pointwise("sub", {x, targets}, x.type);
  Tensor square = build.pointwise("square", {difference}, x.type);
  return combined(build, build.materialized(square), how);
}

/// The reduction's number.
static Reduction reductionOf(const Call &call) {
  int64_t number = call.integer("reduction");
  if (number < 0 || number > 2)
    refuse("has the reduction {}", number);
  return static_cast<Reduction>(number);
}

/// Labels that do not count are below 0 in a program. So `ignore_index` must
/// be, too; PyTorch refuses every other label below 0.
static Results crossEntropyOf(Call &call) {
  Tensor x = call.value("self"), targets = call.tensor("target");
  if (!call.isNone("weight") || call.number("label_smoothing") != 0)
    refuse("has weights of classes or smoothed labels");
  if (targets.constant || isFloating(targets.type))
    refuse("has targets that are constants or probabilities");
  int64_t ignored = call.integer("ignore_index");
  if (ignored >= 0)
    refuse("ignores label {}; known are labels below 0", ignored);
  return {crossEntropy(call.build, x, targets, x.dims.size() > 1 ? 1 : 0,
                       reductionOf(call))};
}

static Results meanSquare(Call &call) {
  return {squaredError(call.build, call.value("self"), call.value("target"),
                       reductionOf(call))};
}

const Operators &torch::lossOperators() {
  static const Operators rows = {
      {"cross_entropy_loss",
       "self, target, weight=None, reduction=1, ignore_index=-100, "
       "label_smoothing=0.0",
       {},
       crossEntropyOf},
      {"mse_loss", "self, target, reduction=1", {}, meanSquare},
  };
  return rows;
}
