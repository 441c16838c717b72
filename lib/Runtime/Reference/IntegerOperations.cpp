//===- IntegerOperations.cpp - lookups, choices, experts ------------------===//

#include "OperationFamilies.h"

#include <cmath>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

/// The transpose of a lookup writes where it read.
static Tensor transposed(const Operands &ids, const IndexNames &selected,
                         const Tensor &gradient, const ValueType &type,
                         Evaluation &e) {
  return oneHotEinsum(ids, selected, gradient, type.indices, type.shape,
                      &e.error);
}

static Tensor evaluateOneHotEinsum(Evaluation &e) {
  Operands ids(e.operands.begin(), e.operands.end() - 1);
  return oneHotEinsum(ids, e.names("indices"), *e.operands.back(), e.indices(),
                      e.shape(), &e.error);
}

static void differentiateOneHotEinsum(Evaluation &e, const Tensor &gradient,
                                      OperandGradients &out) {
  size_t x = out.size() - 1;
  Operands ids(e.operands.begin(), e.operands.end() - 1);
  out.set(x, [&] {
    return transposed(ids, e.names("indices"), gradient, out.type(x), e);
  });
}

static Tensor evaluateEmbedding(Evaluation &e) {
  return oneHotEinsum({e.operands[0]}, {e.text("vocabulary")}, e.operand(1),
                      e.indices(), e.shape(), &e.error);
}

static void differentiateEmbedding(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  out.set(1, [&] {
    return transposed({e.operands[0]}, {e.text("vocabulary")}, gradient,
                      out.type(1), e);
  });
}

/// The log of the sum of exponentials, less the target's logit, which is 0 for
/// a target that is no position.
static Tensor evaluateCrossEntropy(Evaluation &e) {
  std::string over = e.text("over");
  const Tensor &logits = e.operand(0);
  Tensor most = reduceMax(logits, e.indices(), &e.error);
  Tensor powers =
      pointwise([](const double *v) { return std::exp(v[0] - v[1]); },
                {&logits, &most}, logits.indices, logits.shape, &e.error);
  Tensor sum = reduceSum(powers, e.indices(), &e.error);
  Tensor target = oneHotEinsum({e.operands[1]}, {over}, logits, e.indices(),
                               e.shape(), &e.error);
  return pointwise([](const double *v) { return v[0] - v[2] + std::log(v[1]); },
                   {&most, &sum, &target}, e.indices(), e.shape(), &e.error);
}

/// g (softmax - one at the target).
static void differentiateCrossEntropy(Evaluation &e, const Tensor &gradient,
                                      OperandGradients &out) {
  out.set(0, [&] {
    std::string over = e.text("over");
    const ValueType &type = out.type(0);
    Tensor weights = e.stored(
        softmax(e.operand(0), over, /*scale=*/1, std::nullopt, &e.error));
    Tensor target = transposed({e.operands[1]}, {over}, gradient, type, e);
    return pointwise([](const double *v) { return v[0] * v[1] - v[2]; },
                     {&weights, &gradient, &target}, type.indices, type.shape,
                     &e.error);
  });
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

static Tensor evaluateRouter(Evaluation &e) {
  return largest(e.operand(0), e.text("expert"), e.text("choice"), e.indices(),
                 e.shape(), &e.error);
}

static double shortfallOfRouter(Evaluation &e, const Tensor &taken) {
  return shortfall(e.operand(0), e.text("expert"), e.text("choice"), taken,
                   &e.error);
}

static Tensor evaluateCountEarlier(Evaluation &e) {
  return countEarlier(e.operand(0), e.names("over"), e.integer("values"),
                      &e.error);
}

//===----------------------------------------------------------------------===//
// Experts: tokens to slots and back
//===----------------------------------------------------------------------===//

/// How many choices of the same expert come before each, among those of the
/// same position along the indices that ids and `slots` share. First choices of
/// all tokens come first.
static Tensor slotsOf(const ValueType &slots, Evaluation &e) {
  const Tensor &ids = e.operand(0);
  std::string expert = e.text("expert");
  IndexNames over = {e.text("choice")};
  auto has = [&](const std::string &name) {
    for (const std::string &own : slots.indices)
      if (own == name)
        return true;
    return false;
  };
  for (const std::string &name : ids.indices)
    if (name != over.front() && !has(name))
      over.push_back(name);
  for (size_t dim = 0; dim < slots.indices.size(); ++dim)
    if (slots.indices[dim] == expert)
      return countEarlier(ids, over, slots.shape[dim], &e.error);
  e.fail("has no index '" + expert + "' where it has slots");
  return {};
}

static IndexNames placeOfSlot(Evaluation &e) {
  return {e.text("expert"), e.text("slot")};
}

static Tensor evaluateDispatch(Evaluation &e) {
  Tensor slots = slotsOf(e.type, e);
  if (!e.error.empty())
    return {};
  return oneHotEinsum({e.operands[0], &slots}, placeOfSlot(e), e.operand(1),
                      e.indices(), e.shape(), &e.error);
}

static void differentiateDispatch(Evaluation &e, const Tensor &gradient,
                                  OperandGradients &out) {
  Tensor slots = slotsOf(e.type, e);
  if (!e.error.empty())
    return;
  out.set(1, [&] {
    return transposed({e.operands[0], &slots}, placeOfSlot(e), gradient,
                      out.type(1), e);
  });
}

/// Of `combine`: what one choice of a token gets, over the ids' indices and
/// those of the experts' results that no slot has.
static ValueType typeOfChoices(Evaluation &e) {
  const Tensor &ids = e.operand(0), &v = e.operand(2);
  std::string expert = e.text("expert"), slot = e.text("slot");
  ValueType type{ids.indices, ids.shape, e.type.element};
  for (size_t dim = 0; dim < v.indices.size(); ++dim)
    if (v.indices[dim] != expert && v.indices[dim] != slot &&
        !ids.extent(v.indices[dim])) {
      type.indices.push_back(v.indices[dim]);
      type.shape.push_back(v.shape[dim]);
    }
  return type;
}

static Tensor slotsOfCombine(Evaluation &e) {
  return slotsOf({e.operand(2).indices, e.operand(2).shape}, e);
}

static Tensor choicesOf(const Tensor &slots, Evaluation &e) {
  ValueType type = typeOfChoices(e);
  return e.stored(oneHotEinsum({e.operands[0], &slots}, placeOfSlot(e),
                               e.operand(2), type.indices, type.shape,
                               &e.error));
}

/// Every choice's part of the expert's results, weighted and added up.
static Tensor evaluateCombine(Evaluation &e) {
  Tensor slots = slotsOfCombine(e);
  if (!e.error.empty())
    return {};
  Tensor each = choicesOf(slots, e);
  return einsum({e.operands[1], &each}, e.indices(), e.shape(), &e.error);
}

static void differentiateCombine(Evaluation &e, const Tensor &gradient,
                                 OperandGradients &out) {
  Tensor slots = slotsOfCombine(e);
  if (!e.error.empty())
    return;
  out.set(1, [&] {
    Tensor each = choicesOf(slots, e);
    return e.sum({&gradient, &each}, out.type(1).indices, out.type(1).shape);
  });
  out.set(2, [&] {
    ValueType type = typeOfChoices(e);
    Tensor each = e.stored(
        einsum({&gradient, e.operands[1]}, type.indices, type.shape, &e.error));
    return transposed({e.operands[0], &slots}, placeOfSlot(e), each,
                      out.type(2), e);
  });
}

OperationRows integerOperations() {
  OperationRow router{evaluateRouter, nullptr, 1};
  router.judge = shortfallOfRouter;
  return {
      {"one_hot_einsum", {evaluateOneHotEinsum, differentiateOneHotEinsum, 2}},
      {"embedding", {evaluateEmbedding, differentiateEmbedding, 2}},
      {"cross_entropy", {evaluateCrossEntropy, differentiateCrossEntropy, 2}},
      {"router", router},
      {"count_earlier", {evaluateCountEarlier, nullptr, 1}},
      {"dispatch", {evaluateDispatch, differentiateDispatch, 2}},
      {"combine", {evaluateCombine, differentiateCombine, 3}}};
}

} // namespace tpsp::reference
