#include "LayerWriter.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp::import;

/// Added to scores of groups that are left out. Its magnitude exceeds all
/// scores, and f16 can represent it.
static constexpr double farBelow = -1e4;

/// `indices` with `from` replaced by `by`.
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

/// The positions of the best scores along `from`, as many as the extent of
/// `to`.
Value LayerWriter::choose(const Value &score, const std::string &from,
                          const std::string &to, const std::string &name,
                          Where where) {
  return text.apply("router", {score}, name,
                    {replaced(score.type.indices, from, {to}), "i32", where},
                    fmt::format("expert = \"{}\", choice = \"{}\"", from, to));
}

/// The scores at these positions.
Value LayerWriter::chosenOf(const Value &choice, const Value &score,
                            const std::string &from, const std::string &name) {
  return text.apply("one_hot_einsum", {choice, score}, name,
                    open(choice.type.indices),
                    fmt::format("indices = [\"{}\"]", from));
}

/// The scores of experts in the best groups; other experts' scores are made far
/// smaller.
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

/// `score`: the router's scores as `part` transforms them.
void LayerWriter::addUse(const Experts &part, const Value &score,
                         const Value &choice) {
  text.comment("How experts are used.");
  Value likely = score;
  if (part.score == Score::SoftmaxOfChosen)
    likely =
        text.apply("softmax", {score}, "likely", score.type, "over = \"x\"");
  if (element != "f32")
    likely = text.apply("convert", {likely}, "likely_f32",
                        {likely.type.indices, "f32"});
  Value one =
      text.apply("constant", {}, "one",
                 {choice.type.indices, "f32", Where::Choices}, "value = 1");
  Value chosen = text.apply("one_hot_einsum", {choice, one}, "chosen_here",
                            {{"b", "x"}, "f32"}, "indices = [\"x\"]");
  Value mean = text.apply("mean", {likely}, "likely_here", {{"b", "x"}, "f32"});
  use->chosen = text.apply("add", {use->chosen, chosen}, "chosen_so_far",
                           ExpertUse::type());
  use->likely = text.apply("add", {use->likely, mean}, "likely_so_far",
                           ExpertUse::type());
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
  Value choice = choose(judged, "x", "j", "choice", Where::Choices);
  if (use)
    addUse(part, score, choice);
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

LayerWriter::Places LayerWriter::slotsOfExperts() {
  text.comment("Experts. Every one has c slots for the tokens of a sample.");
  Places places;
  places.block = "x";
  places.attributes = "expert = \"x\", slot = \"c\", choice = \"j\"";
  return places;
}

/// Rows of blocks. The load of experts says which rows of a block belong to
/// which expert.
LayerWriter::Places LayerWriter::rowsOfBlocks(const Value &choice) {
  text.comment("Experts. Blocks have c rows for the tokens of a sample, sorted "
               "by expert.");
  Places places;
  places.block = "xb";
  places.attributes = "expert = \"xi\", slot = \"c\", choice = \"j\"";
  places.load =
      text.apply("count_values", {choice}, "load", {{"b", "xb", "xi"}, "i32"},
                 "over = [\"s\", \"j\"], of = [\"xb\", \"xi\"]");
  places.expert = text.apply("runs", {*places.load}, "expert",
                             {{"xb", "b", "c"}, "i32", Where::Slots},
                             "of = \"xi\", along = \"c\"");
  return places;
}

/// Multiplies every place's row by its expert's matrix, onto the index `to`.
Value LayerWriter::throughExperts(const Places &places, const Value &matrix,
                                  const Value &in, const std::string &name,
                                  const std::string &to) {
  Type type = open({places.block, "b", "c", to});
  if (!places.expert)
    return text.apply("einsum", {matrix, in}, name, type);
  Value each =
      text.apply("split", {matrix}, name + "_of_block",
                 open(replaced(matrix.type.indices, "x", {"xb", "xi"})));
  return text.apply("one_hot_einsum", {*places.expert, each, in}, name, type,
                    "indices = [\"xi\"]");
}

Value LayerWriter::write(const Experts &part, const Value &x) {
  Routing routing = route(part, x);
  bool hasBlocks = text.in().hasExtent("xb");
  Places places = hasBlocks ? rowsOfBlocks(routing.choice) : slotsOfExperts();
  auto routed = [&](std::vector<Value> others) {
    std::vector<Value> operands = {routing.choice};
    if (places.load)
      operands.push_back(*places.load);
    operands.insert(operands.end(), others.begin(), others.end());
    return operands;
  };
  Value y = text.apply("dispatch", routed({x}), hasBlocks ? "rows" : "slots",
                       {{places.block, "b", "c", "d"}, element, Where::Slots},
                       places.attributes);
  auto matrix = [&](const Linear &one, const Indices &indices) {
    return parameter(one.name, one.module + ".weight", indices);
  };
  Value gate = throughExperts(places, matrix(part.gate, {"x", "f", "d"}), y,
                              "gate", "f");
  Value up =
      throughExperts(places, matrix(part.up, {"x", "f", "d"}), y, "up", "f");
  Value hidden = text.apply("mul", {activated(part.activation, gate), up},
                            "hidden", up.type);
  Value down = throughExperts(places, matrix(part.down, {"x", "d", "f"}),
                              hidden, "down", "d");
  Value mixed = text.apply("combine", routed({routing.weight, down}), "mixed",
                           open(x.type.indices), places.attributes);
  if (!part.shared)
    return mixed;
  return text.apply("add", {mixed, write(*part.shared, x)}, "all_experts",
                    mixed.type);
}
