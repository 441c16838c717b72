//===- PointwiseOperations.cpp - element by element -----------------------===//

#include "HiddenScores.h"
#include "OperationFamilies.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace tpsp::reference {

/// Sets the gradient of operand `i` to `f(values)` at every element, fitted to
/// the operand. The values are those of the operands and, last, of the result's
/// gradient.
template <typename F>
static void differentiateBy(F f, size_t i, Evaluation &e,
                            const Tensor &gradient, OperandGradients &out) {
  out.set(i, [&] {
    Operands values = e.operands;
    values.push_back(&gradient);
    Tensor all = pointwise(f, values, e.indices(), e.shape(), &e.error);
    return fitted(all, out.type(i), e);
  });
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static Tensor evaluateScale(Evaluation &e) {
  double factor = e.constant("factor");
  return e.map([=](const double *x) { return factor * *x; });
}

static void differentiateScale(Evaluation &e, const Tensor &gradient,
                               OperandGradients &out) {
  out.set(0, [&] {
    return scaled(fitted(gradient, out.type(0), e), e.constant("factor"), e);
  });
}

static Tensor evaluateShift(Evaluation &e) {
  double by = e.constant("by");
  return e.map([=](const double *x) { return *x + by; });
}

/// Differentiates a sum: every summand has the gradient of the sum.
static void differentiateSum(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  for (size_t i = 0; i < out.size(); ++i)
    out.set(i, [&] { return fitted(gradient, out.type(i), e); });
}

static void differentiateSub(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  out.set(0, [&] { return fitted(gradient, out.type(0), e); });
  out.set(1, [&] { return scaled(fitted(gradient, out.type(1), e), -1, e); });
}

static void differentiateMul(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  differentiateBy([](const double *v) { return v[1] * v[2]; }, 0, e, gradient,
                  out);
  differentiateBy([](const double *v) { return v[0] * v[2]; }, 1, e, gradient,
                  out);
}

static void differentiateDiv(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  differentiateBy([](const double *v) { return v[2] / v[1]; }, 0, e, gradient,
                  out);
  differentiateBy([](const double *v) { return -v[0] / v[1] * v[2] / v[1]; }, 1,
                  e, gradient, out);
}

static Tensor evaluateMax(Evaluation &e) {
  return e.map([](const double *x) {
    return std::isnan(x[1]) ? x[1] : std::max(x[0], x[1]); // Keeps a NaN.
  });
}

/// If both are equal, the first operand gets the gradient.
static void differentiateMax(Evaluation &e, const Tensor &gradient,
                             OperandGradients &out) {
  differentiateBy([](const double *v) { return v[0] < v[1] ? 0.0 : v[2]; }, 0,
                  e, gradient, out);
  differentiateBy([](const double *v) { return v[0] < v[1] ? v[2] : 0.0; }, 1,
                  e, gradient, out);
}

/// The bounds of a clamp; a missing bound is infinite.
static std::pair<double, double> boundsOf(Evaluation &e) {
  const double infinity = std::numeric_limits<double>::infinity();
  return {e.has("low") ? e.constant("low") : -infinity,
          e.has("high") ? e.constant("high") : infinity};
}

static Tensor evaluateClamp(Evaluation &e) {
  auto [low, high] = boundsOf(e);
  return e.map([low = low, high = high](const double *x) {
    return std::isnan(x[0]) ? x[0] : std::min(std::max(x[0], low), high);
  });
}

static void differentiateClamp(Evaluation &e, const Tensor &gradient,
                               OperandGradients &out) {
  auto [low, high] = boundsOf(e);
  differentiateBy(
      [low = low, high = high](const double *v) {
        return v[0] >= low && v[0] <= high ? v[1] : 0.0;
      },
      0, e, gradient, out);
}

static Tensor evaluateAddBias(Evaluation &e) {
  return e.map([](const double *x) {
    return hidesKey(x[1]) ? x[1] : seenScore(x[0] + x[1]);
  });
}

static void differentiateAddBias(Evaluation &e, const Tensor &gradient,
                                 OperandGradients &out) {
  for (size_t i : {0, 1})
    differentiateBy([](const double *v) { return hidesKey(v[1]) ? 0.0 : v[2]; },
                    i, e, gradient, out);
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static Tensor evaluateCompare(Evaluation &e) {
  static const std::map<std::string, bool (*)(double, double)> relations = {
      {"less", [](double x, double y) { return x < y; }},
      {"less_equal", [](double x, double y) { return x <= y; }},
      {"equal", [](double x, double y) { return x == y; }},
      {"not_equal", [](double x, double y) { return x != y; }},
      {"greater", [](double x, double y) { return x > y; }},
      {"greater_equal", [](double x, double y) { return x >= y; }}};
  auto relation = relations.find(e.text("is"));
  if (relation == relations.end()) {
    e.fail("has no relation '" + e.text("is") + "' in the reference");
    return {};
  }
  return e.map([&](const double *x) {
    return relation->second(x[0], x[1]) ? 1.0 : 0.0;
  });
}

static Tensor evaluateSelect(Evaluation &e) {
  return e.map([](const double *x) { return x[0] != 0 ? x[1] : x[2]; });
}

static void differentiateSelect(Evaluation &e, const Tensor &gradient,
                                OperandGradients &out) {
  differentiateBy([](const double *v) { return v[0] != 0 ? v[3] : 0.0; }, 1, e,
                  gradient, out);
  differentiateBy([](const double *v) { return v[0] != 0 ? 0.0 : v[3]; }, 2, e,
                  gradient, out);
}

//===----------------------------------------------------------------------===//
// Scalar functions
//===----------------------------------------------------------------------===//

/// Applies the reference's scalar function called `name`.
static Tensor applyFunction(const std::string &name, Evaluation &e) {
  if (const auto *function = findScalarFunction(name))
    return pointwise(*function, e.operands, e.indices(), e.shape(), &e.error);
  e.fail("has no scalar function '" + name + "' in the reference");
  return {};
}

/// An operation whose name is that of the reference's scalar function.
static Tensor evaluateFunction(Evaluation &e) {
  return applyFunction(e.op.name, e);
}

static Tensor evaluateSlope(Evaluation &e) {
  return applyFunction("slope." + e.text("of"), e);
}

static void differentiateFunction(Evaluation &e, const Tensor &gradient,
                                  OperandGradients &out) {
  const ScalarFunction *slope = findScalarFunction("slope." + e.op.name);
  if (!slope)
    return e.fail("has no slope in the reference");
  differentiateBy([&](const double *v) { return slope->evaluate(v, 1) * v[1]; },
                  0, e, gradient, out);
}

OperationRow unaryFunction() {
  return {evaluateFunction, differentiateFunction, /*operands=*/1};
}

//===----------------------------------------------------------------------===//
// Masks and chance
//===----------------------------------------------------------------------===//

/// `x` if the key is no later than the query and within its window, otherwise
/// `fill`.
static Tensor causal(const Tensor &x, double fill, Evaluation &e) {
  size_t query = placeOf(e.text("query"), e), key = placeOf(e.text("key"), e);
  if (!e.error.empty())
    return {};
  PositionMask mask;
  e.readOptions<PositionMask>(mask);
  mask.causal = true;
  return pointwiseAt(
      [=](const double *v, const int64_t *at) {
        return isSeen(mask, at[query], at[key]) ? *v : fill;
      },
      {&x}, e.indices(), e.shape(), &e.error);
}

/// `x` before the end of an index, and `fill` from there on.
static Tensor ended(const Tensor &x, double fill, Evaluation &e) {
  size_t index = placeOf(e.text("index"), e);
  if (!e.error.empty())
    return {};
  int64_t end = e.integer("end");
  return pointwiseAt(
      [=](const double *v, const int64_t *at) {
        return at[index] < end ? *v : fill;
      },
      {&x}, e.indices(), e.shape(), &e.error);
}

/// `x` where the numbers of both segments are equal, otherwise `fill`.
static Tensor ofOneSegment(const Tensor &x, double fill, Evaluation &e) {
  return pointwise([=](const double *v) { return v[1] == v[2] ? v[0] : fill; },
                   {&x, &e.operand(1), &e.operand(2)}, e.indices(), e.shape(),
                   &e.error);
}

/// `x` before the length along an index, and `fill` from there on.
static Tensor before(const Tensor &x, double fill, Evaluation &e) {
  size_t index = placeOf(e.text("index"), e);
  if (!e.error.empty())
    return {};
  return pointwiseAt(
      [=](const double *v, const int64_t *at) {
        return double(at[index]) < v[1] ? v[0] : fill;
      },
      {&x, &e.operand(1)}, e.indices(), e.shape(), &e.error);
}

/// `x` where the label counts, otherwise 0.
static Tensor labelled(const Tensor &x, Evaluation &e) {
  return pointwise([](const double *v) { return v[1] >= 0 ? v[0] : 0.0; },
                   {&x, &e.operand(1)}, e.indices(), e.shape(), &e.error);
}

static Tensor evaluateLabelMask(Evaluation &e) {
  return labelled(e.operand(0), e);
}

static void differentiateLabelMask(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  out.set(0, [&] { return fitted(labelled(gradient, e), out.type(0), e); });
}

/// A mask replaces elements by `fill`, and their gradients by 0.
template <Tensor masked(const Tensor &x, double fill, Evaluation &e)>
static OperationRow mask(size_t operands) {
  return {[](Evaluation &e) { return masked(e.operand(0), e.real("fill"), e); },
          [](Evaluation &e, const Tensor &gradient, OperandGradients &out) {
            out.set(0, [&] {
              return fitted(masked(gradient, 0, e), out.type(0), e);
            });
          },
          operands, /*readsOperands=*/operands > 1};
}

static Tensor evaluateConstant(Evaluation &e) {
  return full(e.indices(), e.shape(), e.real("value"), &e.error);
}

static Tensor evaluateIota(Evaluation &e) {
  size_t index = placeOf(e.text("index"), e);
  Tensor zero = full(e.indices(), e.shape(), 0, &e.error);
  return pointwiseAt(
      [=](const double *, const int64_t *at) { return double(at[index]); },
      {&zero}, e.indices(), e.shape(), &e.error);
}

/// `others` is the number of operands besides the step's number.
static Tensor drawnMask(Evaluation &e, size_t others) {
  if (e.has("part")) {
    e.fail("is a part of a larger tensor; evaluate the program before "
           "tpsp-micro-batch");
    return {};
  }
  return dropoutMask(e.indices(), e.shape(),
                     {e.real("rate"), e.integer("seed"), e.stepFrom(others)},
                     &e.error);
}

static Tensor evaluateDropoutMask(Evaluation &e) { return drawnMask(e, 0); }

static Tensor masked(const Tensor &x, const Tensor &mask, double scale,
                     Evaluation &e) {
  return pointwise(
      [=](const double *v) { return v[1] != 0 ? scale * v[0] : 0.0; },
      {&x, &mask}, e.indices(), e.shape(), &e.error);
}

static Tensor evaluateDropout(Evaluation &e) {
  return masked(e.operand(0), drawnMask(e, 1), 1 / (1 - e.real("rate")), e);
}

static void differentiateDropout(Evaluation &e, const Tensor &gradient,
                                 OperandGradients &out) {
  out.set(0, [&] {
    Tensor kept =
        masked(gradient, drawnMask(e, 1), 1 / (1 - e.real("rate")), e);
    return fitted(kept, out.type(0), e);
  });
}

static Tensor evaluateApplyMask(Evaluation &e) {
  return masked(e.operand(0), e.operand(1), e.constant("scale"), e);
}

static void differentiateApplyMask(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  out.set(0, [&] {
    Tensor kept = masked(gradient, e.operand(1), e.constant("scale"), e);
    return fitted(kept, out.type(0), e);
  });
}

OperationRows pointwiseOperations() {
  return {
      {"scale", linear(evaluateScale, differentiateScale)},
      {"shift", linear(evaluateShift, differentiateSum)},
      {"add", linear(evaluateFunction, differentiateSum)},
      {"add_bias", {evaluateAddBias, differentiateAddBias, 2}},
      {"sub", {evaluateFunction, differentiateSub, 2, false}},
      {"mul", {evaluateFunction, differentiateMul, 2}},
      {"div", {evaluateFunction, differentiateDiv, 2}},
      {"max", {evaluateMax, differentiateMax, 2}},
      {"clamp", {evaluateClamp, differentiateClamp, 1}},
      {"compare", {evaluateCompare, nullptr, 2, false, /*stopsGradient=*/true}},
      {"select", {evaluateSelect, differentiateSelect, 3}},
      {"slope", {evaluateSlope, nullptr, 1}},
      {"causal_mask", mask<causal>(1)},
      {"end_mask", mask<ended>(1)},
      {"segment_mask", mask<ofOneSegment>(3)},
      {"length_mask", mask<before>(2)},
      {"label_mask", {evaluateLabelMask, differentiateLabelMask, 2}},
      {"dropout", {evaluateDropout, differentiateDropout, 1}},
      {"dropout_mask", {evaluateDropoutMask}},
      {"constant", {evaluateConstant}},
      {"iota", {evaluateIota}},
      {"apply_mask", {evaluateApplyMask, differentiateApplyMask, 2}}};
}

} // namespace tpsp::reference
