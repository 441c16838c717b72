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

namespace {

/// The cross-entropy of labels along one dimension of x. Labels below 0 do not
/// count.
class LabelLoss {
public:
  LabelLoss(Builder &build, Tensor scores, Tensor labels, size_t classes)
      : build(build), classes(classes), x(std::move(scores)),
        targets(std::move(labels)) {
    x = build.single(x, classes);
    dims = x.dims;
    dims.erase(dims.begin() + static_cast<int64_t>(classes));
    build.broadcastAlign(dims, targets);
    over = build.program.atoms.leaves(x.dims[classes]).front();
    for (Atom leaf : build.atomsOf(dims))
      build.program.atoms.keepApart({leaf, over});
    x = build.materialized(x);
    targets = build.materialized(targets);
  }

  /// Lets positions with this label, which is a class, not count.
  void ignore(int64_t label) {
    int64_t count = build.program.atoms.extent(x.dims[classes]);
    if (label >= count)
      refuse("ignores label {}; known are labels below 0, and those of its {} "
             "classes",
             label, count);
    std::vector<double> counts(static_cast<size_t>(count), 1);
    counts[static_cast<size_t>(label)] = 0;
    Tensor vector;
    vector.constant = Constant::dense(x.type, {count}, counts);
    vector.type = x.type;
    counted = lookedUp(build.lifted(vector, build.elementOf(x)));
  }

  /// -log p of the label, for each position; 0 where none counts.
  Tensor each() {
    return counting(build.emit("cross_entropy", {x, targets}, dims, x.type,
                               {{"over", IndexAttribute{{over}}}}));
  }

  /// -x of the label, for each position; 0 where none counts.
  Tensor ofLabel() {
    Tensor each = build.pointwise("neg", {lookedUpIn(x)}, x.type);
    return counting(build.emit("label_mask", {each, targets}, dims, x.type));
  }

  /// The weight of the label's class, for each position, and 0 where none
  /// counts. Nothing if all that count have the weight 1, and all labels that
  /// do not count are below 0.
  std::optional<Tensor> weightOfLabel(const std::optional<Tensor> &weights) {
    return weights ? std::optional(counting(lookedUp(*weights))) : counted;
  }

  /// The sum of -log p over all classes, each with its weight, for each
  /// position; 0 where no label counts.
  Tensor ofAllClasses(std::optional<Tensor> weights) {
    Tensor logs =
        build.pointwise("neg", {logSoftmax(build, x, classes)}, x.type);
    Dims rest = x.dims;
    rest[classes].clear();
    Tensor sum;
    if (weights) {
      build.align(x, classes, *weights, 0);
      sum = build.contracted(logs, *weights, rest, x.type);
    } else {
      sum = build.emit("reduce", {logs}, rest, x.type,
                       {{"kind", std::string("sum")}});
    }
    sum.dims = dims;
    return counting(build.emit("label_mask", {sum, targets}, dims, x.type));
  }

  Builder &build;
  const size_t classes;
  Tensor x, targets;
  /// The dimensions of x without the classes.
  Dims dims;

private:
  /// The number of the label's class, for each position.
  Tensor lookedUp(Tensor numbers) {
    build.align(x, classes, numbers, 0);
    return lookedUpIn(numbers);
  }

  /// The same for numbers that have x's classes.
  Tensor lookedUpIn(const Tensor &numbers) {
    Tensor of = numbers;
    of.dims = dims;
    of.value =
        build.emitValue("one_hot_einsum", {targets.value, numbers.value},
                        build.atomsOf(dims), build.elementOf(numbers),
                        {{"indices", IndexAttribute{{over}, /*isList=*/true}}});
    return of;
  }

  Tensor counting(const Tensor &values) {
    return counted ? build.pointwise("mul", {values, *counted}, values.type)
                   : values;
  }

  Atom over = -1;
  /// 1 or 0 for each position, if some labels of classes do not count.
  std::optional<Tensor> counted;
};

} // namespace

Tensor torch::crossEntropy(Builder &build, Tensor x, Tensor targets,
                           size_t classes, Reduction how) {
  LabelLoss loss(build, std::move(x), std::move(targets), classes);
  return combined(build, loss.each(), how, loss.targets);
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

/// (1 - s) w[label] -log p[label] + s / C sum over classes of w -log p, for a
/// smoothing s and C classes.
static Tensor smoothed(LabelLoss &loss, const std::optional<Tensor> &weights,
                       double smoothing) {
  Builder &build = loss.build;
  Tensor each = loss.each();
  if (weights)
    each =
        build.pointwise("mul", {each, *loss.weightOfLabel(weights)}, each.type);
  if (smoothing == 0)
    return each;
  auto classes = static_cast<double>(
      build.program.atoms.extent(loss.x.dims[loss.classes]));
  auto scaled = [&](const Tensor &x, double factor) {
    return build.pointwise("scale", {x}, x.type, {{"factor", factor}});
  };
  return build.pointwise(
      "add",
      {scaled(each, 1 - smoothing),
       scaled(loss.ofAllClasses(weights), smoothing / classes)},
      each.type);
}

/// Labels that do not count are below 0 in a program. PyTorch refuses labels
/// below 0 that are not `ignore_index`. `each` makes the losses of the
/// positions, with the weights.
static Results labelLoss(
    Call &call,
    const std::function<Tensor(LabelLoss &, const std::optional<Tensor> &)>
        &each) {
  Tensor x = call.value("self"), targets = call.tensor("target");
  if (isFloating(targets.type))
    refuse("has targets that are probabilities");
  targets = call.build.lifted(targets, "i32");
  LabelLoss loss(call.build, x, targets, x.dims.size() > 1 ? 1 : 0);
  if (int64_t ignored = call.integer("ignore_index"); ignored >= 0)
    loss.ignore(ignored);
  std::optional<Tensor> weights = call.maybe("weight");
  if (weights)
    weights = call.lifted(*weights);
  Tensor losses = each(loss, weights);
  Reduction how = reductionOf(call);
  std::optional<Tensor> weight = loss.weightOfLabel(weights);
  if (!weight || how != Reduction::Mean)
    return {combined(call.build, losses, how, loss.targets)};
  // The mean is by weight.
  Tensor sum = combined(call.build, losses, Reduction::Sum),
         all = combined(call.build, *weight, Reduction::Sum);
  return {call.build.pointwise("div", {sum, all}, losses.type)};
}

static Results crossEntropyOf(Call &call) {
  double smoothing = call.number("label_smoothing");
  return labelLoss(call,
                   [=](LabelLoss &loss, const std::optional<Tensor> &weights) {
                     return smoothed(loss, weights, smoothing);
                   });
}

/// The weight of the label's class times the negative number of the label.
static Results negativeLikelihood(Call &call) {
  return labelLoss(
      call, [](LabelLoss &loss, const std::optional<Tensor> &weights) {
        Tensor each = loss.ofLabel();
        if (!weights)
          return each;
        return loss.build.pointwise("mul", {each, *loss.weightOfLabel(weights)},
                                    each.type);
      });
}

static Results meanSquare(Call &call) {
  return {squaredError(call.build, call.value("self"), call.value("target"),
                       reductionOf(call))};
}

static Tensor absolute(Builder &build, const Tensor &x) {
  return build.pointwise("max", {x, build.pointwise("neg", {x}, x.type)},
                         x.type);
}

static Tensor absoluteError(Call &call) {
  Tensor x = call.value("self");
  return absolute(call.build, call.build.pointwise(
                                  "sub", {x, call.value("target")}, x.type));
}

static Results combinedBy(Call &call, const Tensor &losses) {
  return {
      combined(call.build, call.build.materialized(losses), reductionOf(call))};
}

static Results meanAbsolute(Call &call) {
  return combinedBy(call, absoluteError(call));
}

/// m (|d| - m / 2) of m = min(|d|, limit): a square up to the limit, and linear
/// from there.
static Tensor huber(Call &call, double limit) {
  Builder &build = call.build;
  Tensor error = absoluteError(call);
  Tensor low = build.pointwise("clamp", {error}, error.type, {{"high", limit}});
  Tensor half = build.pointwise("scale", {low}, low.type, {{"factor", 0.5}});
  Tensor rest = build.pointwise("sub", {error, half}, error.type);
  return build.pointwise("mul", {low, rest}, error.type);
}

static Results huberLoss(Call &call) {
  return combinedBy(call, huber(call, call.number("delta")));
}

/// Huber's loss, divided by the limit.
static Results smoothAbsolute(Call &call) {
  double beta = call.number("beta");
  if (beta == 0)
    return meanAbsolute(call);
  Tensor losses = huber(call, beta);
  return combinedBy(call, call.build.pointwise("scale", {losses}, losses.type,
                                               {{"factor", 1 / beta}}));
}

/// (1 - t) x + (1 + (p - 1) t) softplus(-x), with p = `pos_weight`, or 1.
static Results binaryCrossEntropyOfLogits(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self"), target = call.value("target");
  ScalarType type = x.type;
  Tensor negative = build.pointwise("neg", {x}, type);
  Tensor curve = build.pointwise("softplus", {negative}, type);
  if (auto weight = call.maybe("pos_weight")) {
    Tensor more =
        build.pointwise("shift", {call.lifted(*weight)}, type, {{"by", -1.0}});
    Tensor factor = build.pointwise("mul", {target, more}, type);
    factor = build.pointwise("shift", {factor}, type, {{"by", 1.0}});
    curve = build.pointwise("mul", {curve, factor}, type);
  }
  Tensor linear = build.pointwise(
      "sub", {x, build.pointwise("mul", {x, target}, type)}, type);
  Tensor losses = build.pointwise("add", {linear, curve}, type);
  if (auto weight = call.maybe("weight"))
    losses = build.pointwise("mul", {losses, call.lifted(*weight)}, type);
  return combinedBy(call, losses);
}

/// -(t log x + (1 - t) log(1 - x)), with logarithms from -100 up, as PyTorch
/// has it.
static Results binaryCrossEntropy(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self"), target = call.value("target");
  ScalarType type = x.type;
  auto oneLess = [&](const Tensor &y) {
    Tensor negative = build.pointwise("neg", {y}, type);
    return build.pointwise("shift", {negative}, type, {{"by", 1.0}});
  };
  auto share = [&](const Tensor &factor, const Tensor &y) {
    Tensor log = build.pointwise("log", {y}, type);
    log = build.pointwise("clamp", {log}, type, {{"low", -100.0}});
    return build.pointwise("mul", {factor, log}, type);
  };
  Tensor losses = build.pointwise(
      "add", {share(target, x), share(oneLess(target), oneLess(x))}, type);
  losses = build.pointwise("neg", {losses}, type);
  if (auto weight = call.maybe("weight"))
    losses = build.pointwise("mul", {losses, call.lifted(*weight)}, type);
  return combinedBy(call, losses);
}

/// t (log t - x), which is 0 where t is. With `log_target` the target is log t.
static Results divergence(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self"), target = call.value("target"), log = target;
  if (call.flag("log_target")) {
    target = build.pointwise("exp", {log}, x.type);
  } else {
    constexpr double smallest = 0x1p-126;
    log = build.pointwise("clamp", {target}, x.type, {{"low", smallest}});
    log = build.pointwise("log", {log}, x.type);
  }
  Tensor difference = build.pointwise("sub", {log, x}, x.type);
  return combinedBy(call, build.pointwise("mul", {target, difference}, x.type));
}

const Operators &torch::lossOperators() {
  static const Operators rows = {
      {"cross_entropy_loss",
       "self, target, weight=None, reduction=1, ignore_index=-100, "
       "label_smoothing=0.0",
       {},
       crossEntropyOf},
      {"nll_loss_nd",
       "self, target, weight=None, reduction=1, ignore_index=-100",
       {},
       negativeLikelihood},
      {"kl_div", "self, target, reduction=1, log_target=False", {}, divergence},
      {"mse_loss", "self, target, reduction=1", {}, meanSquare},
      {"l1_loss", "self, target, reduction=1", {}, meanAbsolute},
      {"huber_loss", "self, target, reduction=1, delta=1", {}, huberLoss},
      {"smooth_l1_loss",
       "self, target, reduction=1, beta=1",
       {},
       smoothAbsolute},
      {"binary_cross_entropy_with_logits",
       "self, target, weight=None, pos_weight=None, reduction=1",
       {},
       binaryCrossEntropyOfLogits},
      {"binary_cross_entropy",
       "self, target, weight=None, reduction=1",
       {},
       binaryCrossEntropy},
  };
  return rows;
}
