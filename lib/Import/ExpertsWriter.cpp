#include "LayerWriter.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::import;

/// Added to scores of groups that are left out. All scores are far smaller, and
/// f16 has it, too.
static constexpr double farBelow = -1e4;

/// `indices` with `from` replaced by others.
static Indices replaced(const Indices &indices, const std::string &from,
                        const Indices &by) {
  Indices out;
  for (const std::string &index : indices)
    if (index == from)
      out.insert(out.end(), by.begin(), by.end());
    else
      out.push_back(index);
  return out;
}

/// Positions of the best scores along `from`, as many as `to` has.
Value LayerWriter::choose(const Value &score, const std::string &from,
                          const std::string &to, const std::string &name) {
  return text.apply("router", {score}, name,
                    {replaced(score.type.indices, from, {to}), "i32"},
                    fmt::format("expert = \"{}\", choice = \"{}\"", from, to));
}

/// The scores at these positions.
Value LayerWriter::chosenOf(const Value &choice, const Value &score,
                            const std::string &from, const std::string &name) {
  return text.apply("one_hot_einsum", {choice, score}, name,
                    open(choice.type.indices),
                    fmt::format("indices = [\"{}\"]", from));
}

/// Scores of experts of the best groups, and far smaller ones of all others.
Value LayerWriter::withinGroups(const Value &score) {
  Indices grouped = replaced(score.type.indices, "x", {"y", "i"});
  Indices groups = replaced(score.type.indices, "x", {"y"});
  Value each = text.apply("split", {score}, "grouped", open(grouped));
  Value best = choose(each, "i", "yb", "best_of_group");
  Value value = chosenOf(best, each, "i", "best_scores");
  Value group = text.apply("reduce", {value}, "group_score", open(groups),
                           "kind = \"sum\"");
  Value choice = choose(group, "y", "z", "group_choice");
  Value some = chosenOf(choice, group, "y", "chosen_groups");
  Value zero = text.apply("scale", {some}, "zeros", some.type, "factor = 0");
  Value one = text.apply("shift", {zero}, "ones", some.type, "by = 1");
  Value isChosen = text.apply("one_hot_einsum", {choice, one}, "is_chosen",
                              open(groups), "indices = [\"y\"]");
  Value others =
      text.apply("shift", {isChosen}, "minus_others", open(groups), "by = -1");
  others = text.apply("scale", {others}, "others", open(groups),
                      fmt::format("factor = {}", -farBelow));
  Value limited = text.apply("add", {each, others}, "limited", open(grouped));
  return text.apply("merge", {limited}, "within_groups", score.type);
}

LayerWriter::Routing LayerWriter::route(const Experts &part, const Value &x) {
  Value score = linear(part.router, {"d", "x", {"d"}, {"x"}}, x, "score");
  if (part.score == Score::Softmax)
    score =
        text.apply("softmax", {score}, "likely", score.type, "over = \"x\"");
  if (part.score == Score::Sigmoid)
    score = text.apply("sigmoid", {score}, "likely", score.type);
  Value judged = score;
  if (!part.choiceBias.empty()) {
    Value bias = parameter("choice_bias", part.choiceBias, {"x"},
                           /*isFrozen=*/true);
    judged = text.apply("add", {score, bias}, "judged", score.type);
  }
  if (part.isGrouped)
    judged = withinGroups(judged);
  Value choice = choose(judged, "x", "j", "choice");
  Value weight = chosenOf(choice, score, "x", "chosen");
  if (part.score == Score::SoftmaxOfChosen)
    weight =
        text.apply("softmax", {weight}, "weight", weight.type, "over = \"j\"");
  if (part.isNormalised) {
    Value sum = text.apply("reduce", {weight}, "sum", open({"b", "s"}),
                           "kind = \"sum\"");
    weight = text.apply("div", {weight, sum}, "weight", weight.type);
  }
  if (part.factor != 1)
    weight = text.apply("scale", {weight}, "weight", weight.type,
                        fmt::format("factor = {}", part.factor));
  return {choice, weight};
}

Value LayerWriter::write(const Experts &part, const Value &x) {
  text.comment("Experts. Every one has c slots for the tokens of a sample.");
  Routing routing = route(part, x);
  Value y = text.apply("dispatch", {routing.choice, x}, "slots",
                       {{"x", "b", "c", "d"}, element, Where::Slots},
                       "expert = \"x\", slot = \"c\", choice = \"j\"");
  auto matrix = [&](const Linear &one, const Indices &indices) {
    return parameter(one.name, one.module + ".weight", indices);
  };
  auto through = [&](const Value &w, const Value &in, const std::string &name,
                     const std::string &to) {
    return text.apply("einsum", {w, in}, name, open({"x", "b", "c", to}));
  };
  Value gate = through(matrix(part.gate, {"x", "f", "d"}), y, "gate", "f");
  Value up = through(matrix(part.up, {"x", "f", "d"}), y, "up", "f");
  Value hidden = text.apply("mul", {activated(part.activation, gate), up},
                            "hidden", up.type);
  Value down = through(matrix(part.down, {"x", "d", "f"}), hidden, "down", "d");
  Value mixed = text.apply("combine", {routing.choice, routing.weight, down},
                           "mixed", open(x.type.indices),
                           "expert = \"x\", slot = \"c\", choice = \"j\"");
  if (!part.shared)
    return mixed;
  return text.apply("add", {mixed, write(*part.shared, x)}, "all_experts",
                    mixed.type);
}
