//===- Attention.cpp - attention as two einsums and a softmax -------------===//

#include "Preconditions.h"

#include <cmath>
#include <limits>

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

static const Store asItIs = [](Tensor x) { return x; };

/// Rows of scores: the key index last.
static Tensor scoresOf(const Tensor &q, const Tensor &k,
                       const AttentionForm &form, std::string *error) {
  const IndexNames outer = without(concat(q.indices, k.indices),
                                   {form.feature, form.query, form.key});
  return einsum({&q, &k}, concat(outer, {form.query, form.key}), {}, error);
}

static Tensor weightsOf(const Tensor &scores, const AttentionForm &form,
                        std::string *error) {
  std::optional<std::string> causalQuery;
  if (form.causal)
    causalQuery = form.query;
  return softmax(scores, form.key, form.scale, causalQuery, error);
}

Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const AttentionForm &form, const IndexNames &resultIndices,
                 const Store &store, std::string *error) {
  const std::string reason =
      checkNames(q, k, v, form.query, form.key, form.feature);
  if (!reason.empty())
    return fail(error, "attention: " + reason);
  const Store &stored = store ? store : asItIs;
  Tensor scores = stored(scoresOf(q, k, form, error));
  Tensor weights = stored(weightsOf(scores, form, error));
  scores = {}; // The largest tensors here: hold one at a time.
  if (form.dropout.rate > 0)
    weights = stored(dropped(weights, form.dropout, error));
  return einsum({&weights, &v}, resultIndices, {}, error);
}

Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const std::string &queryIndex, const std::string &keyIndex,
                 const std::string &featureIndex, double scale, bool causal,
                 const IndexNames &resultIndices, std::string *error,
                 Dropout dropout) {
  return attention(q, k, v,
                   {queryIndex, keyIndex, featureIndex, scale, causal, dropout},
                   resultIndices, asItIs, error);
}

Tensor attentionStatistic(const Tensor &q, const Tensor &k,
                          const AttentionForm &form,
                          const IndexNames &resultIndices, std::string *error) {
  // A weight is exp(score - statistic): any that is not 0 says the statistic,
  // the largest best.
  Tensor scores = scoresOf(q, k, form, error);
  Tensor weights = weightsOf(scores, form, error);
  Tensor each = pointwise(
      [&](const double *x) {
        return x[1] > 0 ? form.scale * x[0] - std::log(x[1])
                        : -std::numeric_limits<double>::infinity();
      },
      {&scores, &weights}, scores.indices, scores.shape, error);
  return reduceMax(each, resultIndices, error);
}

std::array<Tensor, 3> attentionGradients(const Tensor &q, const Tensor &k,
                                         const Tensor &v, const Tensor &g,
                                         const AttentionForm &form,
                                         std::array<bool, 3> wanted,
                                         const Store &store,
                                         std::string *error) {
  const Store &stored = store ? store : asItIs;
  std::array<Tensor, 3> gradients;
  Tensor scores = stored(scoresOf(q, k, form, error));
  Tensor weights = stored(weightsOf(scores, form, error));
  scores = {};
  auto dropoutOf = [&](Tensor x) {
    return form.dropout.rate > 0 ? stored(dropped(x, form.dropout, error)) : x;
  };
  if (wanted[2]) {
    Tensor kept = dropoutOf(weights);
    gradients[2] = einsum({&kept, &g}, v.indices, v.shape, error);
  }
  if (!wanted[0] && !wanted[1])
    return gradients;
  Tensor slope = dropoutOf(
      stored(einsum({&g, &v}, weights.indices, weights.shape, error)));
  Tensor product =
      pointwise([](const double *x) { return x[0] * x[1]; }, {&weights, &slope},
                weights.indices, weights.shape, error);
  Tensor dot =
      stored(reduceSum(product, without(weights.indices, {form.key}), error));
  Tensor ds = stored(pointwise(
      [&](const double *x) { return form.scale * x[0] * (x[1] - x[2]); },
      {&weights, &slope, &dot}, weights.indices, weights.shape, error));
  if (wanted[0])
    gradients[0] = einsum({&ds, &k}, q.indices, q.shape, error);
  if (wanted[1])
    gradients[1] = einsum({&ds, &q}, k.indices, k.shape, error);
  return gradients;
}

Tensor attentionGradient(const Tensor &q, const Tensor &k, const Tensor &v,
                         const Tensor &g, const AttentionForm &form, int64_t of,
                         std::string *error) {
  if (of < 0 || of > 2)
    return fail(error, "attentionGradient: no operand " + std::to_string(of));
  std::array<bool, 3> wanted = {};
  wanted[of] = true;
  return attentionGradients(q, k, v, g, form, wanted, asItIs, error)[of];
}

} // namespace tpsp::reference
