//===- ContractionOperations.cpp - sums, views and blocks -----------------===//

#include "OperationFamilies.h"

#include <algorithm>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

static Tensor evaluateEinsum(Evaluation &e) {
  return e.sum(e.operands, e.indices(), e.shape());
}

/// The gradient of a factor is the product of the other factors and of the
/// result's gradient, summed over the indices that the factor lacks.
static void differentiateEinsum(Evaluation &e, const Tensor &gradient,
                                OperandGradients &out) {
  for (size_t i = 0; i < out.size(); ++i)
    out.set(i, [&] {
      Operands factors = e.operands;
      factors[i] = &gradient;
      return e.sum(factors, out.type(i).indices, out.type(i).shape);
    });
}

static Tensor evaluateReduce(Evaluation &e) {
  return e.text("kind") == "max"
             ? reduceMax(e.operand(0), e.indices(), &e.error)
             : e.sum(e.operands, e.indices(), {});
}

/// The gradient of a maximum, divided evenly among the elements that are it.
static Tensor gradientOfMaximum(const Tensor &x, const Tensor &gradient,
                                Evaluation &e) {
  Tensor largest = evaluateReduce(e);
  auto isLargest = [](const double *v) { return v[0] == v[1] ? 1. : 0.; };
  Tensor hits =
      pointwise(isLargest, {&x, &largest}, x.indices, x.shape, &e.error);
  Tensor counts = e.sum({&hits}, largest.indices, {});
  auto share = [](const double *v) { return v[0] * v[1] / v[2]; };
  return pointwise(share, {&hits, &gradient, &counts}, x.indices, x.shape,
                   &e.error);
}

static void differentiateReduce(Evaluation &e, const Tensor &gradient,
                                OperandGradients &out) {
  out.set(0, [&] {
    return e.text("kind") == "max"
               ? gradientOfMaximum(e.operand(0), gradient, e)
               : fitted(gradient, out.type(0), e);
  });
}

/// The weight of each element in a mean with labels. It is 0 if the label is
/// negative, else 1 / the number of elements that count. It has the labels'
/// indices.
static Tensor sharesOfLabels(int64_t elements, Evaluation &e) {
  const Tensor &labels = e.operand(1);
  Tensor counts = pointwise([](const double *v) { return v[0] >= 0 ? 1. : 0.; },
                            {&labels}, labels.indices, labels.shape, &e.error);
  IndexNames kept;
  for (const std::string &name : e.indices())
    if (labels.extent(name))
      kept.push_back(name);
  Tensor number = reduceSum(counts, kept, &e.error);
  // Elements for one label and one result.
  auto each = double(elements) / double(elementCount(labels.shape));
  for (size_t dim = 0; dim < e.indices().size(); ++dim)
    if (!labels.extent(e.indices()[dim]))
      each /= double(e.shape()[dim]);
  return pointwise(
      [=](const double *v) { return v[0] / std::max(v[1], 1.0) / each; },
      {&counts, &number}, labels.indices, labels.shape, &e.error);
}

/// x times its share, and 0 where it does not count, whatever x is.
static Tensor shared(const Tensor &x, const ValueType &type, Evaluation &e) {
  Tensor shares = sharesOfLabels(elementCount(type.shape), e);
  return pointwise([](const double *v) { return v[1] > 0 ? v[0] * v[1] : 0; },
                   {&x, &shares}, type.indices, type.shape, &e.error);
}

static Tensor evaluateMean(Evaluation &e) {
  if (e.operands.size() > 1) {
    const Tensor &x = e.operand(0);
    Tensor each = shared(x, {x.indices, x.shape, e.type.element}, e);
    return e.sum({&each}, e.indices(), {});
  }
  Tensor sum = e.sum(e.operands, e.indices(), {});
  double terms = static_cast<double>(e.operand(0).data.size()) /
                 static_cast<double>(elementCount(e.shape()));
  return scaled(sum, 1 / terms, e);
}

static void differentiateMean(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  out.set(0, [&] {
    if (e.operands.size() > 1)
      return shared(gradient, out.type(0), e);
    double terms = static_cast<double>(elementCount(out.type(0).shape)) /
                   static_cast<double>(elementCount(e.shape()));
    return scaled(fitted(gradient, out.type(0), e), 1 / terms, e);
  });
}

static Tensor evaluateBroadcast(Evaluation &e) {
  return e.map([](const double *x) { return *x; });
}

static void differentiateBroadcast(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  out.set(0, [&] { return fitted(gradient, out.type(0), e); });
}

//===----------------------------------------------------------------------===//
// Rotations
//===----------------------------------------------------------------------===//

static RopeScaling scalingOf(Evaluation &e) {
  return {e.real("stretch"), e.real("trained"), e.real("slow_turns"),
          e.real("fast_turns"), e.flag("log_turns")};
}

static Tensor evaluateRope(Evaluation &e) {
  return rope(e.operand(0), e.text("position"), e.text("feature"),
              e.real("theta"), e.flag("inverse"), &e.error, scalingOf(e));
}

/// The transpose of a rotation is its inverse.
static void differentiateRope(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  out.set(0, [&] {
    Tensor turned =
        rope(gradient, e.text("position"), e.text("feature"), e.real("theta"),
             !e.flag("inverse"), &e.error, scalingOf(e));
    return fitted(turned, out.type(0), e);
  });
}

/// The columns of the rotation matrices are the results of rope for basis
/// vectors. R[p, out, in, m] is half `out` at m of the rotated vector that has
/// ones in half `in`: a rotation does not mix pairs.
static Tensor evaluateRopeMatrix(Evaluation &e) {
  std::string position = e.text("position"), in = e.text("in");
  std::string out = e.text("out"), pair = e.text("feature");
  int64_t pairs = e.integer("pairs");
  size_t at = placeOf(position, e);
  if (!e.error.empty())
    return {};
  int64_t positions = e.shape()[at];
  Tensor basis = pointwiseAt(
      [=](const double *, const int64_t *place) {
        return place[2] / pairs == place[1] ? 1.0 : 0.0;
      },
      {}, {position, in, pair}, {positions, 2, 2 * pairs}, &e.error);
  Tensor rotated = rope(basis, position, pair, e.real("theta"),
                        e.flag("inverse"), &e.error, scalingOf(e));
  rotated = reshape(std::move(rotated), {position, in, out, pair},
                    {positions, 2, 2, pairs}, &e.error);
  return permute(rotated, e.indices(), &e.error);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Views and changes of placement: the same elements in the same order.
static Tensor evaluateView(Evaluation &e) {
  Tensor x = e.expendable ? std::move(*e.expendable) : e.operand(0);
  return reshape(std::move(x), e.indices(), e.shape(), &e.error);
}

static void differentiateView(Evaluation &e, const Tensor &gradient,
                              OperandGradients &out) {
  out.set(0, [&] {
    return reshape(gradient, out.type(0).indices, out.type(0).shape, &e.error);
  });
}

OperationRows contractionOperations() {
  OperationRow view = linear(evaluateView, differentiateView);
  OperationRow constant = view;
  constant.stopsGradient = true;
  return {{"einsum", {evaluateEinsum, differentiateEinsum}},
          {"reduce", {evaluateReduce, differentiateReduce, 1}},
          {"mean", {evaluateMean, differentiateMean, 1}},
          {"broadcast", linear(evaluateBroadcast, differentiateBroadcast)},
          {"convert", linear(evaluateBroadcast, differentiateBroadcast)},
          {"rope", linear(evaluateRope, differentiateRope)},
          {"rope_matrix", {evaluateRopeMatrix}},
          {"rename", view},
          {"split", view},
          {"merge", view},
          {"reshard", view},
          {"stop_gradient", constant}};
}

} // namespace tpsp::reference
