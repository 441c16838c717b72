// Softmax, and attention with the options that change its scores.
#include "Generator.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::property;
using Builder = ProgramBuilder;

/// Options for scores: attributes, and operands after the tensors.
struct ScoreOptions {
  std::string attributes;
  std::vector<ValueId> operands;
};

/// Returns `own` and some of `dims`.
static std::vector<Dim> someAnd(Builder &b, std::vector<Dim> dims, Dim own) {
  std::vector<Dim> some = {own};
  for (const Dim &dim : dims)
    if (dim.name != own.name && b.random.chance(0.5))
      some.push_back(dim);
  b.random.shuffle(some);
  return some;
}

/// Adds segment numbers, lengths, or both.
static void addIntegers(Builder &b, const std::vector<Dim> &queries,
                        const std::vector<Dim> &keys, Dim query, Dim key,
                        ScoreOptions &options) {
  size_t which = b.random.below(3);
  if (which != 0) {
    options.operands.push_back(b.integers(someAnd(b, queries, query), 2));
    options.operands.push_back(b.integers(someAnd(b, keys, key), 2));
  }
  if (which == 1)
    return;
  std::vector<Dim> shared = someAnd(b, keys, key);
  shared.erase(std::remove_if(shared.begin(), shared.end(),
                              [&](const Dim &d) { return d.name == key.name; }),
               shared.end());
  options.operands.push_back(b.integers(shared, key.extent + 1));
}

/// Makes a bias that hides later or earlier keys or gives them a low value.
static ValueId hiding(Builder &b, ValueId bias, Dim query, Dim key) {
  bool hides = b.random.chance(0.7), isReverse = b.random.chance(0.5);
  const Dim &first = isReverse ? key : query, &second = isReverse ? query : key;
  ValueId masked = b.add(
      "causal_mask", {bias}, b.tensor(bias).dims, b.range(bias),
      "{query = " + quoted(first.name) + ", key = " + quoted(second.name) +
          ", fill = " + (hides ? "0xFFF0000000000000" : "-60.0") + " : f64" +
          (b.random.chance(0.3) ? ", window = 2}" : "}"));
  b.program.values[masked].hides = true;
  return masked;
}

/// Adds a bias with some of the indices of scores.
static void addBias(Builder &b, const std::vector<Dim> &queries, Dim query,
                    Dim key, ScoreOptions &options) {
  std::vector<Dim> all = queries;
  all.push_back(key);
  std::vector<Dim> some = someAnd(b, all, b.random.chance(0.5) ? query : key);
  if (!b.isSmall(some))
    return;
  ValueId bias = b.argument(some, b.random.chance(0.5));
  bool isOfBoth =
      b.tensor(bias).find(query.name) && b.tensor(bias).find(key.name);
  options.operands.push_back(
      isOfBoth && b.random.chance(0.7) ? hiding(b, bias, query, key) : bias);
}

/// Adds a sink with some indices of the queries, if they have others than rows.
static void addSink(Builder &b, std::vector<Dim> queries, Dim query,
                    ScoreOptions &options) {
  queries.erase(
      std::remove_if(queries.begin(), queries.end(),
                     [&](const Dim &d) { return d.name == query.name; }),
      queries.end());
  if (queries.empty())
    return;
  Dim own = queries[b.random.below(queries.size())];
  options.operands.push_back(
      b.argument(someAnd(b, queries, own), b.random.chance(0.7)));
}

/// `queries` and `keys` are the indices of both without the feature.
static ScoreOptions someScoreOptions(Builder &b,
                                     const std::vector<Dim> &queries,
                                     const std::vector<Dim> &keys, Dim query,
                                     Dim key, bool hasIntegers) {
  ScoreOptions options;
  bool isCausal = b.random.chance(0.5);
  if (isCausal)
    options.attributes += ", causal";
  if (isCausal && query.extent <= key.extent && b.random.chance(0.4))
    options.attributes +=
        ", window = " + std::to_string(1 + b.random.below(key.extent));
  if (isCausal && query.extent <= key.extent && b.random.chance(0.3))
    options.attributes +=
        ", chunk = " + std::to_string(1 + b.random.below(key.extent));
  if (b.random.chance(0.3))
    options.attributes += ", softcap = 1.5 : f64";
  if (b.random.chance(0.4))
    addBias(b, queries, query, key, options);
  if (b.random.chance(0.4))
    addSink(b, queries, query, options);
  if (hasIntegers)
    addIntegers(b, queries, keys, query, key, options);
  return options;
}

static bool applyAttention(Builder &b, bool hasIntegers) {
  auto q = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() >= 2 && b.range(v).magnitude < 5;
  });
  if (!q)
    return false;
  std::vector<Dim> dims = b.tensor(*q).dims;
  b.random.shuffle(dims);
  Dim query = dims[0], feature = dims[1];
  // Keys and values have all or some of the heads. There are as many keys as
  // queries, or not.
  Dim key = b.freshIndex(b.random.chance(0.5) ? query.extent : 6);
  std::vector<Dim> shared = {key}, rows;
  for (size_t i = 2; i < dims.size(); ++i)
    if (b.random.chance(0.7))
      shared.push_back(dims[i]);
  std::vector<Dim> keys = shared, values = shared, result;
  keys.push_back(feature);
  Dim own = b.random.chance(0.5) ? feature : b.freshIndex(4);
  values.push_back(own);
  b.random.shuffle(keys);
  b.random.shuffle(values);
  for (const Dim &dim : b.tensor(*q).dims)
    result.push_back(dim.name == feature.name ? own : dim);
  if (!b.isSmall(keys) || !b.isSmall(values) || !b.isSmall(result))
    return false;
  std::vector<ValueId> operands = {*q, b.argument(keys, b.random.chance(0.5)),
                                   b.argument(values, b.random.chance(0.5))};
  Range range{b.range(operands[2]).magnitude, false};
  for (const Dim &dim : b.tensor(*q).dims)
    if (dim.name != feature.name)
      rows.push_back(dim);
  ScoreOptions options =
      someScoreOptions(b, rows, shared, query, key, hasIntegers);
  operands.insert(operands.end(), options.operands.begin(),
                  options.operands.end());
  b.add("attention", operands, result, range,
        "{query = " + quoted(query.name) + ", key = " + quoted(key.name) +
            ", feature = " + quoted(feature.name) + ", scale = 0.5 : f64" +
            options.attributes + "}");
  return true;
}

/// No mask, a causal one, or a window of at most half of `extent`.
static std::string someMask(Random &random, int64_t extent) {
  if (random.chance(0.2))
    return "";
  if (random.chance(0.5))
    return ", causal";
  return ", causal, window = " +
         std::to_string(1 + random.below(extent / 2 + 1));
}

/// Adds attention of a tensor to itself, along its longest index. An axis that
/// divides the queries divides the keys alike. So shards hand on keys around a
/// ring, or under a window that does not reach all of them.
static bool applyToItself(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() >= 2 && b.range(v).magnitude < 5;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims, keys = dims;
  auto isShorter = [](const Dim &x, const Dim &y) {
    return x.extent < y.extent;
  };
  size_t query = size_t(std::max_element(dims.begin(), dims.end(), isShorter) -
                        dims.begin());
  size_t feature = (query + 1 + b.random.below(dims.size() - 1)) % dims.size();
  keys[query] = b.freshIndex(dims[query].extent);
  for (const Dim &dim : {dims[query], keys[query]})
    b.renamed.push_back(dim.name);
  ValueId past = b.add("rename", {*x}, keys, b.range(*x));
  ScoreOptions options;
  if (b.random.chance(0.4)) {
    std::vector<Dim> rows = dims;
    rows.erase(rows.begin() + int64_t(feature));
    addSink(b, rows, dims[query], options);
  }
  std::vector<ValueId> operands = {*x, past, past};
  operands.insert(operands.end(), options.operands.begin(),
                  options.operands.end());
  b.add("attention", operands, dims, {b.range(*x).magnitude, false},
        "{query = " + quoted(dims[query].name) +
            ", key = " + quoted(keys[query].name) + ", feature = " +
            quoted(dims[feature].name) + ", scale = 0.5 : f64" +
            someMask(b.random, dims[query].extent) + "}");
  return true;
}

/// Divides a tensor's longest index by all axes that divide its extent.
static void divideLongest(const Program &program, Tensor &tensor) {
  Dim *longest = nullptr;
  for (Dim &dim : tensor.dims) {
    dim.axes.clear();
    if (!longest || dim.extent > longest->extent)
      longest = &dim;
  }
  for (const Axis &axis : program.mesh)
    if (program.canDivide(*longest, axis.size))
      longest->axes.push_back(axis.name);
}

void tpsp::property::divideOwnKeys(Random &random, Program &program) {
  for (const Operation &op : program.operations) {
    if (op.mnemonic != "attention" || random.chance(0.3))
      continue;
    const Operation *rename = program.definition(op.operands[1]);
    if (!rename || rename->mnemonic != "rename" ||
        rename->operands[0] != op.operands[0])
      continue;
    Tensor &queries = program.values[op.operands[0]];
    Tensor &keys = program.values[op.operands[1]];
    queries.unplaced = keys.unplaced = false;
    divideLongest(program, queries);
    for (size_t i = 0; i < keys.dims.size(); ++i)
      keys.dims[i].axes = queries.dims[i].axes;
  }
}

/// Adds a softmax, perhaps with a sink.
static bool applySoftmax(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return !b.tensor(v).dims.empty() && b.range(v).magnitude < 20;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  std::string attributes = "{over = " + quoted(dims[0].name);
  if (b.random.chance(0.3))
    attributes += ", scale = 0.5 : f64";
  if (dims.size() > 1 && b.random.chance(0.5))
    attributes += ", causal = " + quoted(dims[1].name);
  std::vector<ValueId> operands = {*x};
  if (b.random.chance(0.3)) {
    dims.erase(dims.begin());
    dims.resize(b.random.below(dims.size() + 1));
    operands.push_back(b.argument(dims, b.random.chance(0.7)));
  }
  b.add("softmax", operands, b.tensor(*x).dims, {1, false}, attributes + "}");
  return true;
}

/// The bias is added to scores, and exp makes weights of them. A hidden key's
/// weight is 0.
static bool applyAddBias(Builder &b) {
  auto x = b.pick([&](ValueId v) {
    return b.tensor(v).dims.size() >= 2 && b.range(v).magnitude < 3;
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims, all = dims;
  b.random.shuffle(dims);
  ValueId bias = b.argument({dims[0], dims[1]}, /*isParameter=*/true);
  if (!b.onlyArguments)
    bias = hiding(b, bias, dims[0], dims[1]);
  ValueId scores = b.add("add_bias", {*x, bias}, all, {});
  b.program.values[scores].hides = true;
  b.add("exp", {scores}, all, {std::exp(b.range(*x).magnitude + 1.5), false});
  return true;
}

OperationRule tpsp::property::attentionRule(bool hasIntegers) {
  return {"attention", 4, Linear::No, true,
          [hasIntegers](Builder &b) { return applyAttention(b, hasIntegers); }};
}

void tpsp::property::addAttentionRules(std::vector<OperationRule> &rules) {
  rules.push_back(attentionRule(/*hasIntegers=*/false));
  rules.push_back({"attention", 4, Linear::No, true, applyToItself});
  rules.push_back({"softmax", 6, Linear::No, false, applySoftmax});
  rules.push_back({"add_bias", 2, Linear::No, false, applyAddBias});
}
