//===- Attention.cpp - attention as two einsums and a softmax -------------===//

#include "HiddenScores.h"
#include "Preconditions.h"

#include <algorithm>
#include <cmath>

namespace tpsp::reference {

/// The message for the first failed precondition on the index names, or empty.
static std::string checkNames(const Tensor &q, const Tensor &k, const Tensor &v,
                              const std::string &queryIndex,
                              const std::string &keyIndex,
                              const std::string &featureIndex) {
  if (!contains(q.indices, queryIndex) || contains(q.indices, keyIndex))
    return "q must have '" + queryIndex + "' and lack '" + keyIndex + "'";
  for (const Tensor *x : {&k, &v})
    if (!contains(x->indices, keyIndex) || contains(x->indices, queryIndex))
      return "k and v must have '" + keyIndex + "' and lack '" + queryIndex +
             "'";
  if (!contains(q.indices, featureIndex) || !contains(k.indices, featureIndex))
    return "q and k must have '" + featureIndex + "'";
  return "";
}

static Tensor dropped(const Tensor &x, Dropout dropout, std::string *error) {
  Tensor mask = dropoutMask(x.indices, x.shape, dropout, error);
  double scale = 1 / (1 - dropout.rate);
  return pointwise(
      [=](const double *v) { return v[1] != 0 ? scale * v[0] : 0.0; },
      {&x, &mask}, x.indices, x.shape, error);
}

static const Store asItIs;

/// The products of queries and keys, with the key index last.
static Tensor productsOf(const Tensor &q, const Tensor &k,
                         const AttentionForm &form, std::string *error) {
  const IndexNames outer = without(concat(q.indices, k.indices),
                                   {form.feature, form.query, form.key});
  return einsum({&q, &k}, concat(outer, {form.query, form.key}), {}, error);
}

/// f(x, whether the key is seen) for every element of rows of keys.
template <typename F>
static Tensor atScores(const Tensor &x, const AttentionForm &form, F f,
                       std::string *error) {
  const size_t rank = x.indices.size();
  std::vector<const Tensor *> operands = {&x};
  if (form.querySegments)
    operands.insert(operands.end(), {form.querySegments, form.keySegments});
  const size_t length = operands.size();
  if (form.lengths)
    operands.push_back(form.lengths);
  const size_t bias = operands.size();
  if (form.bias)
    operands.push_back(form.bias);
  return pointwiseAt(
      [&](const double *v, const int64_t *at) {
        const int64_t query = at[rank - 2], key = at[rank - 1];
        bool isOfSegment = !form.querySegments || v[1] == v[2];
        bool isBeforeEnd = !form.lengths || double(key) < v[length];
        bool isUnbiased = !form.bias || !hidesKey(v[bias]);
        return f(v[0], isOfSegment && isBeforeEnd && isUnbiased &&
                           isSeen(form, query, key));
      },
      operands, x.indices, x.shape, error);
}

/// Scales and caps the scores, and adds the bias. If every key were seen, the
/// softmax would be of these.
static Tensor biasedScoresOf(const Tensor &products, const AttentionForm &form,
                             std::string *error) {
  const double scale = form.scale, cap = form.softcap;
  Tensor scores = pointwise(
      [=](const double *x) {
        return cap == 0 ? scale * x[0] : cap * std::tanh(scale * x[0] / cap);
      },
      {&products}, products.indices, products.shape, error);
  if (!form.bias)
    return scores;
  return pointwise([](const double *x) { return x[0] + x[1]; },
                   {&scores, form.bias}, scores.indices, scores.shape, error);
}

/// The scores before the softmax, with `hiddenScore` for hidden keys.
static Tensor scoresOf(const Tensor &products, const AttentionForm &form,
                       const Store &stored, std::string *error) {
  Tensor scores = biasedScoresOf(products, form, error);
  // Without a cap or a bias, scores are scaled within the softmax and not
  // stored.
  if (form.softcap != 0 || form.bias)
    scores = stored(std::move(scores));
  return atScores(
      scores, form,
      [](double x, bool seen) { return seen ? seenScore(x) : hiddenScore; },
      error);
}

static Tensor weightsOf(const Tensor &products, const AttentionForm &form,
                        const Store &stored, std::string *error) {
  Tensor scores = scoresOf(products, form, stored, error);
  if (!form.statistic)
    return softmax(scores, form.key, 1, {}, error, /*hides=*/true, form.sink);
  return pointwise(
      [](const double *x) {
        return x[0] == hiddenScore ? 0.0 : std::exp(x[0] - x[1]);
      },
      {&scores, form.statistic}, scores.indices, scores.shape, error);
}

Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const AttentionForm &form, const IndexNames &resultIndices,
                 const Store &store, std::string *error) {
  const std::string reason =
      checkNames(q, k, v, form.query, form.key, form.feature);
  if (!reason.empty())
    return fail(error, "attention: " + reason);
  const Store &stored = store;
  Tensor products =
      stored(stored.added(productsOf(q, k, form, error), {&q, &k}));
  Tensor weights = stored(weightsOf(products, form, stored, error));
  products = {}; // These are the largest tensors here, so only one is held at a
                 // time.
  if (form.dropout.rate > 0)
    weights = stored(dropped(weights, form.dropout, error));
  return stored.added(einsum({&weights, &v}, resultIndices, {}, error),
                      {&weights, &v});
}

Tensor attentionStatistic(const Tensor &q, const Tensor &k,
                          const AttentionForm &form,
                          const IndexNames &resultIndices, std::string *error) {
  Tensor scores = scoresOf(productsOf(q, k, form, error), form, asItIs, error);
  Tensor most = reduceMax(scores, resultIndices, error);
  Tensor weights = pointwise(
      [](const double *x) {
        return x[0] == hiddenScore ? 0.0 : std::exp(x[0] - x[1]);
      },
      {&scores, &most}, scores.indices, scores.shape, error);
  Tensor sum = reduceSum(weights, resultIndices, error);
  Tensor statistic =
      pointwise([](const double *x) { return x[0] + std::log(x[1]); },
                {&most, &sum}, most.indices, most.shape, error);
  if (!form.sink)
    return statistic;
  return pointwise(
      [](const double *x) {
        const double most = std::max(x[0], x[1]);
        return most + std::log(std::exp(x[0] - most) + std::exp(x[1] - most));
      },
      {&statistic, form.sink}, statistic.indices, statistic.shape, error);
}

/// Turns gradients of scores into gradients of the products, through the cap.
static Tensor productSlopes(const Tensor &slopes, const Tensor &products,
                            const AttentionForm &form, std::string *error) {
  const double scale = form.scale, cap = form.softcap;
  return pointwise(
      [=](const double *x) {
        const double bent = cap == 0 ? 0 : std::tanh(scale * x[1] / cap);
        return scale * x[0] * (1 - bent * bent);
      },
      {&slopes, &products}, slopes.indices, slopes.shape, error);
}

/// Returns the slope of each row's sink. The sink's weight is what the others
/// lack to 1, its value is 0, and `dot` is the row's sum of weights times
/// slopes.
static Tensor sinkSlopes(const Tensor &weights, const Tensor &dot,
                         const std::string &key, const Store &stored,
                         std::string *error) {
  Tensor seen = stored(stored.added(
      reduceSum(weights, without(weights.indices, {key}), error), {&weights}));
  return stored(pointwise([](const double *x) { return (x[0] - 1) * x[1]; },
                          {&seen, &dot}, dot.indices, dot.shape, error));
}

std::array<Tensor, 5> attentionGradients(const Tensor &q, const Tensor &k,
                                         const Tensor &v, const Tensor &g,
                                         const AttentionForm &form,
                                         std::array<bool, 5> wanted,
                                         const Store &store,
                                         std::string *error) {
  const Store &stored = store;
  std::array<Tensor, 5> gradients;
  Tensor products =
      stored(stored.added(productsOf(q, k, form, error), {&q, &k}));
  Tensor weights = stored(weightsOf(products, form, stored, error));
  auto sum = [&](const Operands &factors, const Tensor &like) {
    return stored.added(einsum(factors, like.indices, like.shape, error),
                        factors);
  };
  auto dropoutOf = [&](Tensor x) {
    return form.dropout.rate > 0 ? stored(dropped(x, form.dropout, error)) : x;
  };
  if (wanted[2]) {
    Tensor kept = dropoutOf(weights);
    gradients[2] = sum({&kept, &g}, v);
  }
  if (!wanted[0] && !wanted[1] && !wanted[3] && !wanted[4])
    return gradients;
  Tensor slope = dropoutOf(stored(sum({&g, &v}, weights)));
  Tensor product =
      pointwise([](const double *x) { return x[0] * x[1]; }, {&weights, &slope},
                weights.indices, weights.shape, error);
  Tensor dot = stored(stored.added(
      reduceSum(product, without(weights.indices, {form.key}), error),
      {&product}));
  if (wanted[4] && form.sink) {
    Tensor lost = sinkSlopes(weights, dot, form.key, stored, error);
    gradients[4] = sum({&lost}, *form.sink);
  }
  Tensor dz = stored(pointwise(
      [](const double *x) { return x[0] * (x[1] - x[2]); },
      {&weights, &slope, &dot}, weights.indices, weights.shape, error));
  if (wanted[3] && form.bias)
    gradients[3] = sum({&dz}, *form.bias);
  Tensor ds = stored(productSlopes(dz, products, form, error));
  if (wanted[0])
    gradients[0] = sum({&ds, &k}, q);
  if (wanted[1])
    gradients[1] = sum({&ds, &q}, k);
  return gradients;
}

Tensor attentionGradient(const Tensor &q, const Tensor &k, const Tensor &v,
                         const Tensor &g, const AttentionForm &form, int64_t of,
                         std::string *error) {
  const bool isThere = of == 3   ? form.bias != nullptr
                       : of == 4 ? form.sink != nullptr
                                 : of >= 0 && of < 3;
  if (!isThere)
    return fail(error, "attentionGradient: no operand " + std::to_string(of));
  std::array<bool, 5> wanted = {};
  wanted[of] = true;
  return attentionGradients(q, k, v, g, form, wanted, asItIs, error)[of];
}

} // namespace tpsp::reference
