#include "LayerWriter.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::import;

/// The part of a module's name after the last '.'.
static std::string lastWord(const std::string &module) {
  return module.substr(module.rfind('.') + 1);
}

Value LayerWriter::parameter(const std::string &name, const std::string &stored,
                             const Indices &indices, bool isFrozen) {
  Type type{indices, element, Where::Parameter};
  list.push_back(type);
  return text.parameter(name, stored, type, isFrozen ? "{tpsp.frozen}" : "");
}

//===----------------------------------------------------------------------===//
// Helpers of several parts
//===----------------------------------------------------------------------===//

Value LayerWriter::norm(const Norm &norm, const Value &x, const Indices &over,
                        const std::string &name) {
  std::string word = lastWord(norm.module);
  Value gain = parameter(word, norm.module + ".weight", over);
  std::string eps = fmt::format("eps = {}", norm.eps);
  Type type = open(x.type.indices);
  if (norm.kind == Norm::Kind::Layer) {
    Value bias = parameter(word + "_bias", norm.module + ".bias", over);
    return text.apply("layer_norm", {x, gain, bias}, name, type, eps);
  }
  if (norm.kind == Norm::Kind::RmsPlusOne)
    gain =
        text.apply("shift", {gain}, word + "_plus_one", open(over), "by = 1");
  return text.apply("rms_norm", {x, gain}, name, type, eps);
}

/// "[3:7, :]": the rows, or columns, of a stored matrix that belong to a map.
static std::string partOf(const Linear &linear, bool isBias) {
  if (linear.end == 0)
    return "";
  std::string range = fmt::format("{}:{}", linear.begin, linear.end);
  if (isBias)
    return "[" + range + "]";
  return linear.isInFirst ? "[:, " + range + "]" : "[" + range + ", :]";
}

Value LayerWriter::linear(const Linear &linear, const Map &map, const Value &x,
                          const std::string &name) {
  std::string word =
      linear.name.empty() ? lastWord(linear.module) : linear.name;
  auto inOrder = [&](Indices in, Indices out) {
    if (!linear.isInFirst)
      std::swap(in, out);
    in.insert(in.end(), out.begin(), out.end());
    return in;
  };
  Value weight =
      parameter(word, linear.module + ".weight" + partOf(linear, false),
                inOrder({map.storedFrom}, {map.storedTo}));
  Indices viewed = inOrder(map.from, map.to);
  if (viewed != weight.type.indices)
    weight = text.apply("split", {weight}, "w_" + name, open(viewed));
  Indices result;
  for (const std::string &index : x.type.indices)
    if (std::find(map.from.begin(), map.from.end(), index) == map.from.end())
      result.push_back(index);
  result.insert(result.end(), map.to.begin(), map.to.end());
  Value y = text.apply("einsum", {weight, x}, name, open(result));
  if (!linear.hasBias)
    return y;
  Value bias =
      parameter(word + "_bias", linear.module + ".bias" + partOf(linear, true),
                {map.storedTo});
  if (map.to.size() > 1)
    bias = text.apply("split", {bias}, "b_" + name, open(map.to));
  return text.apply("add", {y, bias}, name, y.type);
}

Value LayerWriter::dropped(const Value &x, const DropRate &drop,
                           const std::string &name) {
  if (drop.rate == 0)
    return x;
  return text.apply("dropout", {x}, name, x.type,
                    fmt::format("rate = {}, seed = {}", drop.rate, ++seed));
}

Value LayerWriter::softCap(const Value &x, double cap,
                           const std::string &name) {
  Value y = text.apply("scale", {x}, name + "_scaled", x.type,
                       fmt::format("factor = {}", 1 / cap));
  y = text.apply("tanh", {y}, name + "_tanh", x.type);
  return text.apply("scale", {y}, name, x.type,
                    fmt::format("factor = {}", cap));
}

Value LayerWriter::activated(const std::string &activation, const Value &x) {
  return text.apply(activation, {x}, "activated", x.type);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The indices of heads. There is no r if each key/value head has one query
/// head.
Indices LayerWriter::heads() const {
  if (text.in().extent("r") == 1)
    return {"g", "k"};
  return {"g", "r", "k"};
}

Value LayerWriter::rotated(const Value &x, const std::optional<Rope> &rope,
                           const std::string &feature) {
  if (!rope)
    return x;
  std::string attributes = fmt::format(
      "position = \"s\", feature = \"{}\", theta = {}", feature, rope->theta);
  if (rope->stretch != 1)
    attributes += fmt::format(", stretch = {}", rope->stretch);
  if (rope->stretch != 1 && rope->trained > 0)
    attributes +=
        fmt::format(", trained = {}, slow_turns = {}, fast_turns = {}{}",
                    rope->trained, rope->slowTurns, rope->fastTurns,
                    rope->isLogarithmic ? ", log_turns" : "");
  return text.apply("rope", {x}, x.name.substr(1) + "_turned", x.type,
                    attributes);
}

/// Renames positions for use as keys.
Value LayerWriter::keyed(const Value &x, const std::string &name) {
  Indices indices = x.type.indices;
  std::replace(indices.begin(), indices.end(), std::string("s"),
               std::string("t"));
  return text.apply("rename", {x}, name, open(indices));
}

std::string LayerWriter::weightsDropout() {
  double rate = dropout.attention.rate;
  return rate == 0 ? ""
                   : fmt::format(", dropout = {}, seed = {}", rate, ++seed);
}

Value LayerWriter::weightedValues(const Attention &part, const Value &q,
                                  const Value &k, const Value &v) {
  std::string attributes = fmt::format(
      "query = \"s\", key = \"t\", feature = \"k\", scale = {}", part.scale);
  if (part.softCap != 0)
    attributes += fmt::format(", softcap = {}", part.softCap);
  attributes += ", causal";
  if (part.window != 0)
    attributes += fmt::format(", window = {}", part.window);
  attributes += weightsDropout();
  return text.apply("attention", {q, k, v}, "o", q.type, attributes);
}

Value LayerWriter::write(const Attention &part, const Value &x) {
  text.comment("Attention.");
  Value q = linear(part.query, {"d", "q", {"d"}, heads()}, x, "q");
  Value k = linear(part.key, {"d", "kv", {"d"}, {"g", "k"}}, x, "k");
  Value v = linear(part.value, {"d", "kv", {"d"}, {"g", "k"}}, x, "v");
  if (part.queryNorm)
    q = norm(*part.queryNorm, q, {"k"}, "q_normed");
  if (part.keyNorm)
    k = norm(*part.keyNorm, k, {"k"}, "k_normed");
  q = rotated(q, part.rope, "k");
  k = keyed(rotated(k, part.rope, "k"), "keys");
  v = keyed(v, "values");
  Value o = weightedValues(part, q, k, v);
  return linear(part.output, {"q", "d", heads(), {"d"}}, o, "attended");
}

//===----------------------------------------------------------------------===//
// MLP and blocks
//===----------------------------------------------------------------------===//

Value LayerWriter::write(const Mlp &part, const Value &x) {
  text.comment("MLP.");
  const std::string &e = part.hidden;
  LayerWriter::Map in{"d", e, {"d"}, {e}};
  Value hidden;
  if (part.gate) {
    Value gate = linear(*part.gate, in, x, "gate");
    Value up = linear(part.up, in, x, "up");
    hidden = text.apply("mul", {activated(part.activation, gate), up}, "hidden",
                        up.type);
  } else {
    hidden = activated(part.activation, linear(part.up, in, x, "up"));
  }
  return linear(part.down, {e, "d", {e}, {"d"}}, hidden, "down");
}

Value LayerWriter::write(const Block &block, const Value &x, bool isLast) {
  Value y = norm(block.before, x, {"d"}, "normed");
  y = std::visit([&](const auto &part) { return write(part, y); }, block.part);
  y = dropped(y, dropout.residual, "kept");
  if (block.after)
    y = norm(*block.after, y, {"d"}, "normed");
  Type type = open(x.type.indices);
  if (isLast)
    type.where = Where::Activation;
  return text.apply("add", {x, y}, "z", type);
}
