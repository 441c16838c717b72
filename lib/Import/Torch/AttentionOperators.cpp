// Scaled dot-product attention.
#include "Masks.h"
#include "Operators.h"
#include "Refusal.h"

#include <cmath>
#include <limits>

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Results = std::vector<Tensor>;

namespace {

/// Queries [..., s, k], keys [..., t, k] and values [..., t, w], whose atoms
/// are those of one attention.
struct Heads {
  Tensor queries, keys, values;
  size_t query = 0, feature = 0;
};

} // namespace

/// Keys or values of fewer heads, each for several of the queries'.
static Tensor spread(Call &call, Tensor x, int64_t heads) {
  Builder &build = call.build;
  Sizes sizes = build.sizes(x);
  size_t dim = sizes.size() - 3;
  if (sizes[dim] == heads || heads % sizes[dim] != 0)
    return x;
  Sizes wide = sizes, whole = sizes;
  wide.insert(wide.begin() + static_cast<int64_t>(dim) + 1, heads / sizes[dim]);
  whole[dim] = heads;
  x.dims.insert(x.dims.begin() + static_cast<int64_t>(dim) + 1, AtomList{});
  return build.viewed(build.expanded(x, wide), whole);
}

/// Aligns the dimensions before the last two.
static void alignBatch(Call &call, const Tensor &fixed, Tensor &other) {
  for (size_t i = 3; i <= fixed.dims.size() && i <= other.dims.size(); ++i) {
    size_t a = fixed.dims.size() - i, b = other.dims.size() - i;
    if (!fixed.dims[a].empty() && !other.dims[b].empty())
      call.build.align(fixed, a, other, b);
    else if (!other.dims[b].empty())
      refuse("has more heads of keys than of queries");
  }
}

static Heads headsOf(Call &call) {
  Builder &build = call.build;
  Heads heads = {call.value("query"), call.value("key"), call.value("value")};
  size_t rank = heads.queries.dims.size();
  if (rank < 3 || heads.keys.dims.size() != rank ||
      heads.values.dims.size() != rank)
    refuse("has queries of {} dimensions, and keys of {}", rank,
           heads.keys.dims.size());
  if (call.flag("enable_gqa")) {
    int64_t count = build.sizes(heads.queries)[rank - 3];
    heads.keys = spread(call, heads.keys, count);
    heads.values = spread(call, heads.values, count);
  }
  heads.query = rank - 2;
  heads.feature = rank - 1;
  Tensor &q = heads.queries, &k = heads.keys, &v = heads.values;
  for (size_t dim : {heads.query, heads.feature})
    for (Tensor *one : {&q, &k, &v}) {
      if (one->dims[dim].empty())
        refuse("has one position, or one feature of a head");
      *one = build.single(*one, dim);
    }
  alignBatch(call, q, k);
  alignBatch(call, q, v);
  build.align(q, heads.feature, k, heads.feature);
  build.makeDistinct(build.atomsOf(q.dims), k, heads.query);
  build.align(k, heads.query, v, heads.query);
  // Values may have features of their own.
  if (build.sizes(v)[heads.feature] == build.sizes(q)[heads.feature])
    build.align(q, heads.feature, v, heads.feature);
  else
    build.makeDistinct(build.atomsOf(q.dims), v, heads.feature);
  return heads;
}

static double scaleOf(Call &call, const Heads &heads) {
  if (!call.isNone("scale"))
    return call.number("scale");
  int64_t features = call.build.sizes(heads.queries)[heads.feature];
  return 1 / std::sqrt(static_cast<double>(features));
}

/// True and false as 0 and minus infinity.
static ConstantPtr additive(const ConstantPtr &mask) {
  if (mask->type() != ScalarType::Bool)
    return mask;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return Constant::apply(
      "additive",
      [](const std::vector<double> &x) { return x[0] != 0 ? 0 : -infinity; },
      ScalarType::F32, {mask});
}

/// What is added to the scores.
static Tensor biasOf(Call &call, const Tensor &mask, const Heads &heads) {
  Builder &build = call.build;
  Tensor bias = mask;
  if (mask.constant) {
    bias.constant = additive(mask.constant);
    bias = call.lifted(bias);
  } else {
    bias = call.lifted(bias);
    if (mask.type == ScalarType::Bool)
      bias = build.pointwise("log", {bias}, call.result().type);
  }
  Dims scores = heads.queries.dims;
  scores[heads.feature] = heads.keys.dims[heads.query];
  build.broadcastAlign(scores, bias);
  return bias;
}

static Results attention(Call &call) {
  Builder &build = call.build;
  if (call.number("dropout_p") != 0)
    refuse("has dropout; export the module in evaluation mode");
  Heads heads = headsOf(call);
  Sizes queries = build.sizes(heads.queries), keys = build.sizes(heads.keys);
  Attributes attributes = {
      {"query", IndexAttribute{heads.queries.dims[heads.query]}},
      {"key", IndexAttribute{heads.keys.dims[heads.query]}},
      {"feature", IndexAttribute{heads.queries.dims[heads.feature]}},
      {"scale", scaleOf(call, heads)}};
  std::vector<Tensor> operands = {heads.queries, heads.keys, heads.values};
  if (call.flag("is_causal"))
    attributes["causal"] = true;
  if (auto mask = call.maybe("attn_mask")) {
    int64_t s = queries[heads.query], t = keys[heads.query];
    std::optional<Band> band;
    if (mask->constant)
      band = bandOf(*mask->constant, s, t);
    bool isWindow = band && band->isCausal() && band->last < s - 1;
    if (band && band->isCausal() && (!isWindow || s <= t)) {
      attributes["causal"] = true;
      if (isWindow)
        attributes["window"] = band->last + 1;
    } else if (!band || !band->isAll(s, t)) {
      operands.push_back(biasOf(call, *mask, heads));
    }
  }
  operands[0] = build.materialized(operands[0]);
  for (size_t i = 1; i < 3; ++i)
    for (size_t dim : {heads.query, heads.feature})
      operands[i] = build.materialized(operands[i], dim);
  Dims dims = heads.queries.dims;
  dims[heads.feature] = heads.values.dims[heads.feature];
  return {build.emit("attention", operands, dims, call.result().type,
                     std::move(attributes))};
}

const Operators &torch::attentionOperators() {
  static const Operators rows = {
      {"scaled_dot_product_attention",
       "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, "
       "scale=None, enable_gqa=False",
       {},
       attention},
  };
  return rows;
}
