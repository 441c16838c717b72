//===- IntegerOperations.cpp - lookups, choices, experts ------------------===//

#include "OperationFamilies.h"

#include <algorithm>
#include <cmath>

namespace tpsp::reference {

//===----------------------------------------------------------------------===//
// Lookups
//===----------------------------------------------------------------------===//

/// The transpose of a lookup: it writes to the places that the lookup reads.
static Tensor transposed(const Operands &ids, const IndexNames &selected,
                         const Tensor &gradient, const ValueType &type,
                         Evaluation &e) {
  return oneHotEinsum(ids, selected, {&gradient}, type.indices, type.shape,
                      &e.error);
}

/// The integer operands, and the others.
static std::pair<Operands, Operands> integersAndNumbers(Evaluation &e) {
  auto first = e.operands.begin() + e.names("indices").size();
  return {{e.operands.begin(), first}, {first, e.operands.end()}};
}

static Tensor evaluateOneHotEinsum(Evaluation &e) {
  auto [ids, numbers] = integersAndNumbers(e);
  return oneHotEinsum(ids, e.names("indices"), numbers, e.indices(), e.shape(),
                      &e.error);
}

/// A one-hot einsum is linear in each number. The other factors stay, and the
/// gradient takes the number's place.
static void differentiateOneHotEinsum(Evaluation &e, const Tensor &gradient,
                                      OperandGradients &out) {
  auto [ids, numbers] = integersAndNumbers(e);
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t operand = ids.size() + i;
    Operands factors = numbers;
    factors[i] = &gradient;
    out.set(operand, [&, ids = ids] {
      return oneHotEinsum(ids, e.names("indices"), factors,
                          out.type(operand).indices, out.type(operand).shape,
                          &e.error);
    });
  }
}

static Tensor evaluateEmbedding(Evaluation &e) {
  return oneHotEinsum({e.operands[0]}, {e.text("vocabulary")}, {e.operands[1]},
                      e.indices(), e.shape(), &e.error);
}

static void differentiateEmbedding(Evaluation &e, const Tensor &gradient,
                                   OperandGradients &out) {
  out.set(1, [&] {
    return transposed({e.operands[0]}, {e.text("vocabulary")}, gradient,
                      out.type(1), e);
  });
}

/// The log of the sum of exponentials, minus the target's logit; 0 for a
/// negative target. For a target beyond all positions, that logit is taken as
/// 0.
static Tensor evaluateCrossEntropy(Evaluation &e) {
  std::string over = e.text("over");
  const Tensor &logits = e.operand(0);
  Tensor most = reduceMax(logits, e.indices(), &e.error);
  Tensor powers =
      pointwise([](const double *v) { return std::exp(v[0] - v[1]); },
                {&logits, &most}, logits.indices, logits.shape, &e.error);
  Tensor sum = reduceSum(powers, e.indices(), &e.error);
  Tensor target = oneHotEinsum({e.operands[1]}, {over}, {&logits}, e.indices(),
                               e.shape(), &e.error);
  return pointwise(
      [](const double *v) {
        return v[3] < 0 ? 0.0 : v[0] - v[2] + std::log(v[1]);
      },
      {&most, &sum, &target, e.operands[1]}, e.indices(), e.shape(), &e.error);
}

/// g (softmax - one at the target), and 0 for a negative target.
static void differentiateCrossEntropy(Evaluation &e, const Tensor &gradient,
                                      OperandGradients &out) {
  out.set(0, [&] {
    std::string over = e.text("over");
    const ValueType &type = out.type(0);
    Tensor weights = e.stored(
        softmax(e.operand(0), over, /*scale=*/1, std::nullopt, &e.error));
    Tensor target = transposed({e.operands[1]}, {over}, gradient, type, e);
    return pointwise(
        [](const double *v) { return v[3] < 0 ? 0.0 : v[0] * v[1] - v[2]; },
        {&weights, &gradient, &target, e.operands[1]}, type.indices, type.shape,
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
  bool hasLoad = e.operands.size() > 1;
  return countEarlier(e.operand(0), e.names("over"), e.integer("values"),
                      hasLoad ? &e.operand(1) : nullptr,
                      hasLoad ? e.names("of") : IndexNames(), &e.error);
}

static Tensor evaluateCountValues(Evaluation &e) {
  return countValues(e.operand(0), e.names("of"), e.indices(), e.shape(),
                     &e.error);
}

static Tensor evaluateRuns(Evaluation &e) {
  return runs(e.operand(0), e.text("of"), e.text("along"), e.indices(),
              e.shape(), &e.error);
}

static Tensor evaluateBlockOf(Evaluation &e) {
  const auto size = double(e.integer("size"));
  return pointwise(
      [&](const double *v) { return v[0] < 0 ? -1 : std::floor(v[0] / size); },
      {e.operands[0]}, e.indices(), e.shape(), &e.error);
}

//===----------------------------------------------------------------------===//
// Experts: tokens to slots and back
//===----------------------------------------------------------------------===//

namespace {

/// The places of the choices of a dispatch or a combine in `slots`: positions
/// along the indices `selected`.
struct Places {
  std::vector<Tensor> integers;
  IndexNames selected;

  /// Without blocks, the first integers are the ids themselves.
  Operands all(Evaluation &e, bool startsWithIds) const {
    Operands operands;
    if (startsWithIds)
      operands.push_back(e.operands[0]);
    for (const Tensor &each : integers)
      operands.push_back(&each);
    return operands;
  }
};

} // namespace

static bool has(const IndexNames &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The indices over which the choices of a row are counted: the first choices
/// of all tokens come first. Choices are counted separately for each position
/// along the indices that ids and `slots` share.
static IndexNames countedOver(const IndexNames &slots, Evaluation &e) {
  IndexNames over = {e.text("choice")};
  for (const std::string &name : e.operand(0).indices)
    if (name != over.front() && !has(slots, name))
      over.push_back(name);
  return over;
}

/// Finds the places among the slots of experts. If a load follows the ids, they
/// are among the slots of blocks of experts, sorted.
static Places placesAmong(const ValueType &slots, bool hasLoad, Evaluation &e) {
  Places places;
  const Tensor &ids = e.operand(0);
  std::string expert = e.text("expert"), slot = e.text("slot");
  IndexNames over = countedOver(slots.indices, e);
  if (!hasLoad) {
    for (size_t dim = 0; dim < slots.indices.size(); ++dim)
      if (slots.indices[dim] == expert)
        places.integers = {countEarlier(ids, over, slots.shape[dim], &e.error)};
    if (places.integers.empty())
      e.fail("has no index '" + expert + "' where it has slots");
    places.selected = {expert, slot};
    return places;
  }
  const Tensor &load = e.operand(1);
  IndexNames of;
  for (const std::string &name : load.indices)
    if (name != expert && !has(ids.indices, name))
      of = {name};
  bool hasBlocks = !of.empty();
  const int64_t each = *load.extent(expert);
  int64_t experts = each * (hasBlocks ? *load.extent(of.front()) : 1);
  places.selected = of;
  of.push_back(expert);
  places.selected.push_back(slot);
  if (hasBlocks)
    places.integers.push_back(pointwise(
        [&](const double *v) { return std::floor(v[0] / double(each)); },
        {&ids}, ids.indices, ids.shape, &e.error));
  places.integers.push_back(
      countEarlier(ids, over, experts, &load, of, &e.error));
  return places;
}

static Tensor evaluateDispatch(Evaluation &e) {
  bool hasLoad = e.operands.size() > 2;
  Places places = placesAmong(e.type, hasLoad, e);
  if (!e.error.empty())
    return {};
  return oneHotEinsum(places.all(e, !hasLoad), places.selected,
                      {e.operands.back()}, e.indices(), e.shape(), &e.error);
}

static void differentiateDispatch(Evaluation &e, const Tensor &gradient,
                                  OperandGradients &out) {
  bool hasLoad = e.operands.size() > 2;
  Places places = placesAmong(e.type, hasLoad, e);
  size_t x = out.size() - 1;
  if (e.error.empty())
    out.set(x, [&] {
      return transposed(places.all(e, !hasLoad), places.selected, gradient,
                        out.type(x), e);
    });
}

/// The type of what `combine` reads for each choice of a token. It has the ids'
/// indices, and those indices of the experts' results that no slot has.
static ValueType typeOfChoices(const Places &places, Evaluation &e) {
  const Tensor &ids = e.operand(0), &v = *e.operands.back();
  ValueType type{ids.indices, ids.shape, e.type.element};
  for (size_t dim = 0; dim < v.indices.size(); ++dim)
    if (!has(places.selected, v.indices[dim]) && !ids.extent(v.indices[dim])) {
      type.indices.push_back(v.indices[dim]);
      type.shape.push_back(v.shape[dim]);
    }
  return type;
}

static Places placesOfCombine(Evaluation &e) {
  const Tensor &v = *e.operands.back();
  return placesAmong({v.indices, v.shape}, e.operands.size() > 3, e);
}

static Tensor choicesOf(const Places &places, Evaluation &e) {
  ValueType type = typeOfChoices(places, e);
  return e.stored(oneHotEinsum(places.all(e, e.operands.size() == 3),
                               places.selected, {e.operands.back()},
                               type.indices, type.shape, &e.error));
}

/// The weighted sum, over a token's choices, of the experts' results.
static Tensor evaluateCombine(Evaluation &e) {
  Places places = placesOfCombine(e);
  if (!e.error.empty())
    return {};
  Tensor each = choicesOf(places, e);
  const Tensor *weights = e.operands[e.operands.size() - 2];
  return einsum({weights, &each}, e.indices(), e.shape(), &e.error);
}

static void differentiateCombine(Evaluation &e, const Tensor &gradient,
                                 OperandGradients &out) {
  Places places = placesOfCombine(e);
  if (!e.error.empty())
    return;
  size_t v = out.size() - 1, weights = v - 1;
  out.set(weights, [&] {
    Tensor each = choicesOf(places, e);
    return e.sum({&gradient, &each}, out.type(weights).indices,
                 out.type(weights).shape);
  });
  out.set(v, [&] {
    ValueType type = typeOfChoices(places, e);
    Tensor each = e.stored(einsum({&gradient, e.operands[weights]},
                                  type.indices, type.shape, &e.error));
    return transposed(places.all(e, out.size() == 3), places.selected, each,
                      out.type(v), e);
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
      {"count_values", {evaluateCountValues, nullptr, 1}},
      {"runs", {evaluateRuns, nullptr, 1}},
      {"block_of", {evaluateBlockOf, nullptr, 1}},
      {"dispatch", {evaluateDispatch, differentiateDispatch, 2}},
      {"combine", {evaluateCombine, differentiateCombine, 3}}};
}

} // namespace tpsp::reference
