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

/// Which keys are seen: by their positions, and by what is added to the scores.
struct Mask {
  bool isCausal = false;
  std::optional<int64_t> window;
  std::optional<Tensor> bias;
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
      if (!one->dims[dim].empty())
        *one = build.single(*one, dim);
    }
  alignBatch(call, q, k);
  alignBatch(call, q, v);
  if (!q.dims[heads.feature].empty())
    build.align(q, heads.feature, k, heads.feature);
  build.makeDistinct(build.atomsOf(q.dims), k, heads.query);
  if (!k.dims[heads.query].empty())
    build.align(k, heads.query, v, heads.query);
  // Values may have features of their own.
  if (build.sizes(v)[heads.feature] == build.sizes(q)[heads.feature] &&
      !v.dims[heads.feature].empty())
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

/// The mask as numbers that are added to the scores.
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
  auto carries = [&](const AtomList &dim) {
    AtomList leaves = build.program.atoms.leaves(dim);
    return !leaves.empty() && build.has(bias, leaves.front());
  };
  if (carries(scores[heads.query]) || carries(scores[heads.feature]))
    return bias;
  // Numbers without the index of queries or keys would be a sink.
  bias.dims = scores;
  return build.materialized(bias, heads.feature);
}

static Mask maskOf(Call &call, const Heads &heads) {
  Mask out;
  out.isCausal = call.flag("is_causal");
  auto mask = call.maybe("attn_mask");
  if (!mask)
    return out;
  int64_t s = call.build.sizes(heads.queries)[heads.query],
          t = call.build.sizes(heads.keys)[heads.query];
  std::optional<Band> band;
  if (mask->constant)
    band = bandOf(*mask->constant, s, t);
  if (band && band->isAll(s, t))
    return out;
  bool isWindow = band && band->last < s - 1;
  if (!band || !band->isCausal() || (isWindow && s > t)) {
    out.bias = biasOf(call, *mask, heads);
    return out;
  }
  out.isCausal = true;
  if (isWindow)
    out.window = band->last + 1;
  return out;
}

static Attributes maskAttributes(const Heads &heads, const Mask &mask) {
  Attributes attributes = {
      {"query", IndexAttribute{heads.queries.dims[heads.query]}},
      {"key", IndexAttribute{heads.keys.dims[heads.query]}}};
  if (mask.window)
    attributes["window"] = *mask.window;
  return attributes;
}

/// Scores, their softmax, and the sum of values that it weights.
static Tensor spelledOut(Call &call, const Heads &heads, const Mask &mask) {
  Builder &build = call.build;
  Dims dims = heads.queries.dims;
  dims[heads.feature] = heads.keys.dims[heads.query];
  ScalarType type = call.result().type;
  Tensor scores = build.contracted(heads.queries, heads.keys, dims, type);
  scores = build.pointwise("scale", {scores}, type,
                           {{"factor", scaleOf(call, heads)}});
  if (mask.bias)
    scores = build.pointwise("add", {scores, *mask.bias}, type);
  bool areSeveral = !heads.queries.dims[heads.query].empty() &&
                    !heads.keys.dims[heads.query].empty();
  if (mask.isCausal && !areSeveral)
    refuse("is causal, of one query or one key");
  if (mask.isCausal) {
    Attributes attributes = maskAttributes(heads, mask);
    attributes["fill"] =
        -static_cast<double>(std::numeric_limits<float>::max());
    scores = build.pointwise("causal_mask", {scores}, type, attributes);
  }
  if (!heads.keys.dims[heads.query].empty()) {
    scores = build.materialized(scores, heads.feature);
    scores = build.emit("softmax", {scores}, scores.dims, type,
                        {{"over", IndexAttribute{scores.dims.back()}}});
  } else {
    // The only key has all the weight.
    scores = build.pointwise("sub", {scores, scores}, type);
    scores = build.pointwise("shift", {scores}, type, {{"by", 1.0}});
  }
  dims[heads.feature] = heads.values.dims[heads.feature];
  return build.contracted(scores, heads.values, dims, type);
}

static bool isWhole(const Heads &heads) {
  for (const Tensor *one : {&heads.queries, &heads.keys, &heads.values})
    for (size_t dim : {heads.query, heads.feature})
      if (one->dims[dim].empty())
        return false;
  return true;
}

static Results attention(Call &call) {
  Builder &build = call.build;
  if (call.number("dropout_p") != 0)
    refuse("has dropout; export the module in evaluation mode");
  Heads heads = headsOf(call);
  Mask mask = maskOf(call, heads);
  if (!build.recognises || !isWhole(heads))
    return {spelledOut(call, heads, mask)};
  Attributes attributes = maskAttributes(heads, mask);
  attributes["feature"] = IndexAttribute{heads.queries.dims[heads.feature]};
  attributes["scale"] = scaleOf(call, heads);
  if (mask.isCausal)
    attributes["causal"] = true;
  std::vector<Tensor> operands = {build.materialized(heads.queries), heads.keys,
                                  heads.values};
  for (size_t i = 1; i < 3; ++i)
    for (size_t dim : {heads.query, heads.feature})
      operands[i] = build.materialized(operands[i], dim);
  if (mask.bias)
    operands.push_back(*mask.bias);
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
