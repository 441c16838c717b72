#include "LayerWriter.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::import;

/// The blocks along `index`, as values that lack this index.
std::vector<Value> LayerWriter::blocksOf(const Value &x,
                                         const std::string &index) {
  Indices rest = x.type.indices;
  rest.erase(std::find(rest.begin(), rest.end(), index));
  std::vector<Value> blocks;
  for (int64_t at = 0; at < text.in().extent(index); ++at)
    blocks.push_back(
        text.apply("take", {x}, x.name.substr(1) + "_block", open(rest),
                   fmt::format("index = \"{}\", at = {}", index, at)));
  return blocks;
}

/// Concatenates blocks [b, s, g, u] to [b, s, g, whole].
Value LayerWriter::joined(const std::vector<Value> &blocks,
                          const std::string &name, const std::string &block,
                          const std::string &whole) {
  Value stacked = text.apply("stack", blocks, name + "_blocks",
                             open({"b", "s", "g", block, "u"}),
                             fmt::format("index = \"{}\"", block));
  return text.apply("merge", {stacked}, name, open({"b", "s", "g", whole}));
}

/// Rotates a block with positions. If pairs are neighbours, their members are
/// first moved to the two halves. Queries and keys are permuted alike, so
/// scores do not change.
Value LayerWriter::turnedBlock(const LatentAttention &part, const Value &x,
                               const std::string &name) {
  Value halves = x;
  if (part.isInterleaved) {
    Indices pairs = x.type.indices, members;
    pairs.pop_back();
    members = pairs;
    pairs.insert(pairs.end(), {"m", "n"});
    members.insert(members.end(), {"n", "m"});
    Value split = text.apply("split", {x}, name + "_pairs", open(pairs));
    split = text.apply("einsum", {split}, name + "_members", open(members));
    halves = text.apply("merge", {split}, name + "_halves", x.type);
  }
  Value turned = rotated(halves, part.rope, "u");
  if (part.magnitude == 1)
    return turned;
  return text.apply("scale", {turned}, name + "_scaled", turned.type,
                    fmt::format("factor = {}", part.magnitude));
}

Value LayerWriter::latentQuery(const LatentAttention &part, const Value &x) {
  Value from = x;
  std::string width = "d";
  if (part.queryDown) {
    width = "a";
    from = linear(*part.queryDown, {"d", "a", {"d"}, {"a"}}, x, "q_latent");
    from = norm(*part.queryNorm, from, {"a"}, "q_latent_normed");
  }
  Value q = linear(part.query, {width, "q", {width}, {"g", "kb", "u"}}, from,
                   "q_all");
  std::vector<Value> blocks = blocksOf(q, "kb");
  blocks.back() = turnedBlock(part, blocks.back(), "q");
  return joined(blocks, "q", "kb", "k");
}

Value LayerWriter::write(const LatentAttention &part, const Value &x) {
  text.comment("Attention from latents.");
  Value q = latentQuery(part, x);
  Value latent = linear(part.latent, {"d", "l", {"d"}, {"l"}}, x, "latent");
  latent = norm(part.latentNorm, latent, {"l"}, "latent_normed");
  Value both =
      linear(part.keyValue, {"l", "kv", {"l"}, {"g", "lb", "u"}}, latent, "kv");
  Value shared = linear(part.sharedKey, {"d", "u", {"d"}, {"u"}}, x, "shared");
  shared = turnedBlock(part, shared, "k");
  shared = text.apply("broadcast", {shared}, "shared_of_heads",
                      open({"b", "s", "g", "u"}));
  std::vector<Value> blocks = blocksOf(both, "lb");
  auto middle = blocks.begin() + (text.in().extent("kb") - 1);
  std::vector<Value> keys(blocks.begin(), middle), values(middle, blocks.end());
  keys.push_back(shared);
  Value k = keyed(joined(keys, "k", "kb", "k"), "keys");
  Value v = keyed(joined(values, "v", "vb", "w"), "values");
  Value o = text.apply("attention", {q, k, v}, "attention",
                       open({"b", "s", "g", "w"}),
                       fmt::format("query = \"s\", key = \"t\", feature = "
                                   "\"k\", scale = {}, causal{}",
                                   part.scale, weightsDropout()));
  return linear(part.output, {"o", "d", {"g", "w"}, {"d"}}, o, "attended");
}
