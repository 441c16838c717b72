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

Tensor attention(const Tensor &q, const Tensor &k, const Tensor &v,
                 const std::string &queryIndex, const std::string &keyIndex,
                 const std::string &featureIndex, double scale, bool causal,
                 const IndexNames &resultIndices, std::string *error) {
  const std::string reason =
      checkNames(q, k, v, queryIndex, keyIndex, featureIndex);
  if (!reason.empty())
    return fail(error, "attention: " + reason);

  // The key index last, where the softmax and the second product want it.
  const IndexNames outer =
      without(concat(q.indices, k.indices), {featureIndex, keyIndex});
  Tensor scores = einsum({&q, &k}, concat(outer, {keyIndex}), {}, error);
  std::optional<std::string> causalQuery;
  if (causal)
    causalQuery = queryIndex;
  Tensor weights = softmax(scores, keyIndex, scale, causalQuery, error);
  scores = {}; // The largest tensors here: hold one at a time.
  return einsum({&weights, &v}, resultIndices, {}, error);
}

} // namespace tpsp::reference
