//===- Attention.cpp - attention as two einsums and a softmax -------------===//

#include "Preconditions.h"

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
  Tensor mask =
      dropoutMask(x.indices, x.shape, dropout.rate, dropout.seed, error);
  double scale = 1 / (1 - dropout.rate);
  return pointwise(
      [=](const double *v) { return v[1] != 0 ? scale * v[0] : 0.0; },
      {&x, &mask}, x.indices, x.shape, error);
}

Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const std::string &queryIndex, const std::string &keyIndex,
                 const std::string &featureIndex, double scale, bool causal,
                 const IndexNames &resultIndices, std::string *error,
                 Dropout dropout) {
  const std::string reason =
      checkNames(q, k, v, queryIndex, keyIndex, featureIndex);
  if (!reason.empty())
    return fail(error, "attention: " + reason);

  // The key index last, where the softmax and the second product want it.
  const IndexNames outer = without(concat(q.indices, k.indices),
                                   {featureIndex, queryIndex, keyIndex});
  Tensor scores =
      einsum({&q, &k}, concat(outer, {queryIndex, keyIndex}), {}, error);
  std::optional<std::string> causalQuery;
  if (causal)
    causalQuery = queryIndex;
  Tensor weights = softmax(scores, keyIndex, scale, causalQuery, error);
  scores = {}; // The largest tensors here: hold one at a time.
  if (dropout.rate > 0)
    weights = dropped(weights, dropout, error);
  return einsum({&weights, &v}, resultIndices, {}, error);
}

} // namespace tpsp::reference
