#include "Folding.h"
#include "Refusal.h"

#include <cmath>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Values = std::vector<double>;
using Results = std::vector<Tensor>;

/// The number that an operand is everywhere, if the other operand has all
/// dimensions of the result.
static std::optional<double> numberOf(const Call &call, const std::string &name,
                                      const std::string &other) {
  if (!call.isTensor(name))
    return call.number(name);
  Tensor tensor = call.tensor(name);
  if (!tensor.constant)
    return {};
  const Constant &constant = *tensor.constant;
  for (size_t i = 0; i < constant.sizes().size(); ++i)
    if (constant.varies(i))
      return {};
  Sizes fixed = call.build.sizes(call.tensor(other));
  if (broadcastSizes({fixed, constant.sizes()}) != fixed)
    return {};
  return constant.at(Sizes(constant.sizes().size(), 0));
}

static Tensor apply(Call &call, const std::string &name, const Tensor &x,
                    Attributes attributes = {}) {
  return call.build.pointwise(name, {x}, call.result().type,
                              std::move(attributes));
}

static Tensor scaled(Call &call, const Tensor &x, double factor) {
  if (factor == 1)
    return x;
  if (factor == -1)
    return apply(call, "neg", x);
  return apply(call, "scale", x, {{"factor", factor}});
}

static Tensor shifted(Call &call, const Tensor &x, double by) {
  return by == 0 ? x : apply(call, "shift", x, {{"by", by}});
}

static Emit unary(const std::string &name,
                  const std::string &argument = "self") {
  return [=](Call &call) -> Results {
    return {apply(call, name, call.value(argument))};
  };
}

/// a self + b other; `alpha` is a factor of `of`.
static Results sum(Call &call, double a, double b, const std::string &of) {
  (of == "self" ? a : b) *= call.number("alpha");
  if (auto number = numberOf(call, "other", "self"))
    return {shifted(call, scaled(call, call.value("self"), a), b * *number)};
  if (auto number = numberOf(call, "self", "other"))
    return {shifted(call, scaled(call, call.value("other"), b), a * *number)};
  Tensor self = call.value("self"), other = call.value("other");
  if (b < 0 && a > 0)
    return {call.build.pointwise(
        "sub", {scaled(call, self, a), scaled(call, other, -b)},
        call.result().type)};
  return {call.build.pointwise("add",
                               {scaled(call, self, a), scaled(call, other, b)},
                               call.result().type)};
}

static Results add(Call &call) { return sum(call, 1, 1, "other"); }
static Results sub(Call &call) { return sum(call, 1, -1, "other"); }
static Results rsub(Call &call) { return sum(call, -1, 1, "self"); }

static Results mul(Call &call) {
  if (auto number = numberOf(call, "other", "self"))
    return {scaled(call, call.value("self"), *number)};
  if (auto number = numberOf(call, "self", "other"))
    return {scaled(call, call.value("other"), *number)};
  return {call.build.pointwise("mul", {call.value("self"), call.value("other")},
                               call.result().type)};
}

static Results divided(Call &call) {
  if (auto number = numberOf(call, "other", "self"))
    return {scaled(call, call.value("self"), 1 / *number)};
  return {call.build.pointwise("div", {call.value("self"), call.value("other")},
                               call.result().type)};
}

static Results reciprocal(Call &call) {
  Tensor one = call.build.number(1, call.resultElement());
  return {call.build.pointwise("div", {one, call.value("self")},
                               call.result().type)};
}

/// By squares and roots where that is the same; x^y else, for positive x.
static Results power(Call &call) {
  std::optional<double> exponent = numberOf(call, "exponent", "self");
  if (!exponent)
    refuse("has an exponent that depends on an input");
  Tensor x = call.value("self");
  double left = std::abs(*exponent);
  if (left == 0.5)
    return {apply(call, *exponent < 0 ? "rsqrt" : "sqrt", x)};
  if (left != std::floor(left) || left == 0 || left > 64)
    refuse("has exponent {}; known are 0.5 and whole numbers up to 64",
           *exponent);
  std::optional<Tensor> product;
  Tensor factor = x;
  for (auto bits = static_cast<int64_t>(left); bits > 0; bits /= 2) {
    if (bits % 2 == 1)
      product = product ? call.build.pointwise("mul", {*product, factor},
                                               call.result().type)
                        : factor;
    if (bits > 1)
      factor = apply(call, "square", factor);
  }
  if (*exponent > 0)
    return {*product};
  Tensor one = call.build.number(1, call.resultElement());
  return {call.build.pointwise("div", {one, *product}, call.result().type)};
}

/// base ^ self, as exp(self log(base)).
static Results powerOfNumber(Call &call) {
  double base = call.number("self");
  if (!(base > 0))
    refuse("is a power of {}; known are powers of positive numbers", base);
  Tensor x = scaled(call, call.value("exponent"), std::log(base));
  return {apply(call, "exp", x)};
}

/// exp(x) - 1 without its cancellation, for x up to 1: 2 t / (1 - t) of
/// t = tanh(x / 2).
static Tensor smallLessOne(Call &call, const Tensor &x) {
  Tensor t = apply(call, "tanh", scaled(call, x, 0.5));
  Tensor rest = shifted(call, scaled(call, t, -1), 1);
  return call.build.pointwise("div", {scaled(call, t, 2), rest},
                              call.result().type);
}

static Results exponentialLessOne(Call &call) {
  Builder &build = call.build;
  ScalarType type = call.result().type;
  Tensor x = call.value("self");
  Tensor small = smallLessOne(call, apply(call, "clamp", x, {{"high", 1.0}}));
  Tensor large = shifted(call, apply(call, "exp", x), -1);
  Tensor isLarge =
      build.pointwise("compare", {x, build.number(1, call.resultElement())},
                      type, {{"is", std::string("greater")}});
  return {build.pointwise("select", {isLarge, large, small}, type)};
}

static Results gelu(Call &call) {
  std::string how = call.word("approximate");
  bool isTanh = how == "tanh";
  if (!isTanh && how != "none")
    refuse("is approximated by '{}'; known are 'tanh' and 'none'", how);
  return {apply(call, isTanh ? "gelu" : "gelu_erf", call.value("self"))};
}

static Results absolute(Call &call) {
  Tensor x = call.value("self");
  return {call.build.pointwise("max", {x, apply(call, "neg", x)},
                               call.result().type)};
}

static Results maximum(Call &call) {
  return {call.build.pointwise("max", {call.value("self"), call.value("other")},
                               call.result().type)};
}

static Results minimum(Call &call) {
  Tensor negative =
      call.build.pointwise("max",
                           {apply(call, "neg", call.value("self")),
                            apply(call, "neg", call.value("other"))},
                           call.result().type);
  return {apply(call, "neg", negative)};
}

static Results clamp(Call &call) {
  Attributes limits;
  if (!call.isNone("min"))
    limits["low"] = call.number("min");
  if (!call.isNone("max"))
    limits["high"] = call.number("max");
  return {apply(call, "clamp", call.value("self"), limits)};
}

/// Between bounds that are tensors.
static Results clampTensor(Call &call) {
  Builder &build = call.build;
  ScalarType type = call.result().type;
  Tensor x = call.value("self");
  auto negative = [&](const Tensor &y) { return apply(call, "neg", y); };
  if (auto low = call.maybe("min"))
    x = build.pointwise("max", {x, call.lifted(*low)}, type);
  if (auto high = call.maybe("max"))
    x = negative(build.pointwise(
        "max", {negative(x), negative(call.lifted(*high))}, type));
  return {x};
}

static Results hardtanh(Call &call) {
  return {apply(
      call, "clamp", call.value("self"),
      {{"low", call.number("min_val")}, {"high", call.number("max_val")}})};
}

static Results leaky(Call &call) {
  Tensor x = call.value("self");
  double slope = call.number("negative_slope");
  Tensor negative = apply(call, "relu", apply(call, "neg", x));
  return {call.build.pointwise(
      "sub", {apply(call, "relu", x), scaled(call, negative, slope)},
      call.result().type)};
}

/// scale (max(x, 0) + alpha (exp(inputScale min(x, 0)) - 1)).
static Tensor linearUnit(Call &call, double alpha, double scale,
                         double inputScale) {
  Tensor x = call.value("self");
  Tensor low = scaled(call, apply(call, "relu", apply(call, "neg", x)), -1);
  Tensor curve = smallLessOne(call, scaled(call, low, inputScale));
  return call.build.pointwise("add",
                              {scaled(call, apply(call, "relu", x), scale),
                               scaled(call, curve, scale * alpha)},
                              call.result().type);
}

static Results elu(Call &call) {
  return {linearUnit(call, call.number("alpha"), call.number("scale"),
                     call.number("input_scale"))};
}

static Results celu(Call &call) {
  double alpha = call.number("alpha");
  if (!(alpha > 0))
    refuse("has alpha = {}; known are positive numbers", alpha);
  return {linearUnit(call, alpha, 1, 1 / alpha)};
}

/// With the constants of Klambauer et al., Self-Normalizing Neural Networks
/// (2017).
static Results selu(Call &call) {
  return {linearUnit(call, 1.6732632423543772, 1.0507009873554805, 1)};
}

/// min(max(x / 6 + 1 / 2, 0), 1).
static Tensor hardSigmoid(Call &call, const Tensor &x) {
  return apply(call, "clamp", shifted(call, scaled(call, x, 1.0 / 6), 0.5),
               {{"low", 0.0}, {"high", 1.0}});
}

static Results hardsigmoid(Call &call) {
  return {hardSigmoid(call, call.value("self"))};
}

static Results hardswish(Call &call) {
  Tensor x = call.value("self");
  return {call.build.pointwise("mul", {x, hardSigmoid(call, x)},
                               call.result().type)};
}

static Results relu6(Call &call) {
  return {
      apply(call, "clamp", call.value("self"), {{"low", 0.0}, {"high", 6.0}})};
}

/// -softplus(-x).
static Results logSigmoid(Call &call) {
  Tensor x = apply(call, "neg", call.value("self"));
  return {apply(call, "neg", apply(call, "softplus", x))};
}

static Results mish(Call &call) {
  Tensor x = call.value("self");
  Tensor gate = apply(call, "tanh", apply(call, "softplus", x));
  return {call.build.pointwise("mul", {x, gate}, call.result().type)};
}

/// The first half of a dimension, gated by the second.
static Results gatedHalf(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self");
  size_t dim = call.dim("dim", x.dims.size());
  int64_t half = build.sizes(x).at(dim) / 2;
  if (half == 0 || build.sizes(x)[dim] % 2 != 0)
    refuse("halves {} positions", build.sizes(x)[dim]);
  Tensor gate = apply(call, "sigmoid", build.cut(x, dim, half, half));
  return {build.pointwise("mul", {build.cut(x, dim, 0, half), gate},
                          call.result().type)};
}

/// max(x, 0) - w max(-x, 0), with w for each channel [n, c, ...] or for all.
static Results parametricRelu(Call &call) {
  Builder &build = call.build;
  Tensor x = call.value("self"), weight = call.value("weight");
  if (build.sizes(weight) == Sizes{1})
    weight.dims.clear();
  else if (x.dims.size() > 1)
    weight.dims.resize(x.dims.size() - 1);
  Tensor negative = apply(call, "relu", apply(call, "neg", x));
  return {build.pointwise("sub",
                          {apply(call, "relu", x),
                           build.pointwise("mul", {negative, weight}, x.type)},
                          x.type)};
}

static Emit logarithm(double base) {
  return [=](Call &call) -> Results {
    return {scaled(call, apply(call, "log", call.value("self")),
                   1 / std::log(base))};
  };
}

/// log(1 + x).
static Results logarithmOfOneMore(Call &call) {
  return {apply(call, "log", shifted(call, call.value("self"), 1))};
}

/// (x > 0) - (x < 0).
static Results sign(Call &call) {
  Tensor x = call.value("self");
  Tensor zero = call.build.number(0, call.resultElement());
  auto is = [&](const char *relation) {
    Tensor truth = call.build.pointwise("compare", {x, zero}, ScalarType::Bool,
                                        {{"is", std::string(relation)}});
    return call.build.converted(truth, call.resultElement());
  };
  return {call.build.pointwise("sub", {is("greater"), is("less")}, x.type)};
}

static Results powerOfTwo(Call &call) {
  return {apply(call, "exp", scaled(call, call.value("self"), std::log(2.0)))};
}

static Results softplus(Call &call) {
  if (call.number("beta") != 1)
    refuse("has beta = {}; known is 1", call.number("beta"));
  return {apply(call, "softplus", call.value("self"))};
}

static Formula function(double (*of)(double)) {
  return [of](const Values &x) { return of(x[0]); };
}

static Fold foldPair(double (*of)(double, double)) {
  return foldOf({"self", "other"},
                [of](const Values &x) { return of(x[0], x[1]); });
}

static std::vector<ConstantPtr> foldClamp(const Call &call) {
  double low = call.isNone("min") ? -INFINITY : call.number("min");
  double high = call.isNone("max") ? INFINITY : call.number("max");
  auto limited = [=](const Values &x) {
    return std::min(std::max(x[0], low), high);
  };
  return foldOf({"self"}, limited)(call);
}

/// Sums, products and powers.
static Operators arithmetic() {
  auto scaledSum = foldOf({"self", "other", "alpha"},
                          [](const Values &x) { return x[0] + x[2] * x[1]; });
  auto scaledDifference =
      foldOf({"self", "other", "alpha"},
             [](const Values &x) { return x[0] - x[2] * x[1]; });
  auto product = foldPair([](double a, double b) { return a * b; });
  auto quotient = foldPair([](double a, double b) { return a / b; });
  auto larger = foldPair([](double a, double b) { return a < b ? b : a; });
  auto smaller = foldPair([](double a, double b) { return b < a ? b : a; });
  auto powers = foldOf({"self", "exponent"},
                       [](const Values &x) { return std::pow(x[0], x[1]); });
  auto floored = foldPair([](double a, double b) { return std::floor(a / b); });
  auto rest =
      foldPair([](double a, double b) { return a - b * std::floor(a / b); });
  auto fold = [](double (*of)(double)) {
    return foldOf({"self"}, function(of));
  };
  static const char *unaryArguments = "self", *pair = "self, other",
                    *sumArguments = "self, other, alpha=1";
  return {
      {"add.Tensor", sumArguments, scaledSum, add},
      {"add.Scalar", sumArguments, scaledSum, add},
      {"sub.Tensor", sumArguments, scaledDifference, sub},
      {"sub.Scalar", sumArguments, scaledDifference, sub},
      {"rsub.Scalar", sumArguments,
       foldOf({"self", "other", "alpha"},
              [](const Values &x) { return x[1] - x[2] * x[0]; }),
       rsub},
      {"mul.Tensor", pair, product, mul},
      {"mul.Scalar", pair, product, mul},
      {"multiply.Tensor", pair, product, mul},
      {"div.Tensor", pair, quotient, divided},
      {"div.Scalar", pair, quotient, divided},
      {"floor_divide", pair, floored, {}},
      {"remainder.Scalar", pair, rest, {}},
      {"remainder.Tensor", pair, rest, {}},
      {"reciprocal", unaryArguments, fold([](double a) { return 1 / a; }),
       reciprocal},
      {"pow.Tensor_Scalar", "self, exponent", powers, power},
      {"pow.Tensor_Tensor", "self, exponent", powers, power},
      {"pow.Scalar", "self, exponent", powers, powerOfNumber},
      {"maximum", pair, larger, maximum},
      {"max.other", pair, larger, maximum},
      {"minimum", pair, smaller, minimum},
      {"min.other", pair, smaller, minimum},
      {"clamp", "self, min=None, max=None", foldClamp, clamp},
      {"clamp_min", "self, min, max=None", foldClamp, clamp},
      {"clamp.Tensor", "self, min=None, max=None", {}, clampTensor},
      {"hardtanh", "self, min_val=-1, max_val=1", {}, hardtanh},
  };
}

/// Functions of one number.
static Operators functions() {
  auto fold = [](double (*of)(double)) {
    return foldOf({"self"}, function(of));
  };
  static const char *unaryArguments = "self";
  return {
      {"exp", unaryArguments, fold(std::exp), unary("exp")},
      {"expm1", unaryArguments, fold(std::expm1), exponentialLessOne},
      {"log", unaryArguments, fold(std::log), unary("log")},
      {"tanh", unaryArguments, fold(std::tanh), unary("tanh")},
      {"sin", unaryArguments, fold(std::sin), unary("sin")},
      {"cos", unaryArguments, fold(std::cos), unary("cos")},
      {"sqrt", unaryArguments, fold(std::sqrt), unary("sqrt")},
      {"rsqrt", unaryArguments, fold([](double a) { return 1 / std::sqrt(a); }),
       unary("rsqrt")},
      {"square", unaryArguments, fold([](double a) { return a * a; }),
       unary("square")},
      {"neg", unaryArguments, fold([](double a) { return -a; }), unary("neg")},
      {"abs", unaryArguments, fold(std::abs), absolute},
      {"floor", unaryArguments, fold(std::floor), {}},
      {"sigmoid", unaryArguments,
       fold([](double a) { return 1 / (1 + std::exp(-a)); }), unary("sigmoid")},
      {"relu", unaryArguments, fold([](double a) { return a > 0 ? a : 0; }),
       unary("relu")},
      {"silu", unaryArguments, {}, unary("silu")},
      {"gelu", "self, approximate=none", {}, gelu},
      {"leaky_relu", "self, negative_slope=0.01", {}, leaky},
      {"softplus", "self, beta=1, threshold=20", {}, softplus},
      {"elu", "self, alpha=1, scale=1, input_scale=1", {}, elu},
      {"celu", "self, alpha=1", {}, celu},
      {"selu", unaryArguments, {}, selu},
      {"hardsigmoid", unaryArguments, {}, hardsigmoid},
      {"hardswish", unaryArguments, {}, hardswish},
      {"relu6", unaryArguments, {}, relu6},
      {"log_sigmoid", unaryArguments, {}, logSigmoid},
      {"mish", unaryArguments, {}, mish},
      {"glu", "self, dim=-1", {}, gatedHalf},
      {"prelu", "self, weight", {}, parametricRelu},
      {"_prelu_kernel", "self, weight", {}, parametricRelu},
      {"log1p", unaryArguments, fold(std::log1p), logarithmOfOneMore},
      {"sign", unaryArguments,
       fold([](double a) { return (a > 0 ? 1.0 : 0.0) - (a < 0 ? 1.0 : 0.0); }),
       sign},
      {"ceil", unaryArguments, fold(std::ceil), {}},
      {"round", unaryArguments, fold(std::nearbyint), {}},
      {"trunc", unaryArguments, fold(std::trunc), {}},
      {"log2", unaryArguments, fold(std::log2), logarithm(2)},
      {"log10", unaryArguments, fold(std::log10), logarithm(10)},
      {"exp2", unaryArguments, fold(std::exp2), powerOfTwo},
  };
}

const Operators &torch::pointwiseOperators() {
  static const Operators all = [] {
    Operators found = arithmetic(), more = functions();
    found.insert(found.end(), more.begin(), more.end());
    return found;
  }();
  return all;
}
