// Booleans and choices by them; conversions, and operations that keep numbers.
#include "Folding.h"
#include "Refusal.h"

using namespace tpsp::import;
using namespace tpsp::import::torch;

using Values = std::vector<double>;
using Results = std::vector<Tensor>;

static Tensor apply(Call &call, const std::string &name, const Tensor &x,
                    Attributes attributes = {}) {
  return call.build.pointwise(name, {x}, call.result().type,
                              std::move(attributes));
}

//===----------------------------------------------------------------------===//
// Booleans: numbers that are 0 or 1
//===----------------------------------------------------------------------===//

/// The precision in which two operands are compared.
static std::string comparedIn(const Call &call) {
  for (const char *name : {"self", "other"})
    if (call.isTensor(name) && isFloating(call.tensor(name).type))
      return elementOf(call.tensor(name).type);
  return call.build.element;
}

static Tensor valueOrNumber(Call &call, const std::string &name,
                            const std::string &element) {
  if (call.isTensor(name))
    return call.value(name, element);
  return call.build.number(call.number(name), element);
}

static Emit comparison(const std::string &relation) {
  return [=](Call &call) -> Results {
    std::string element = comparedIn(call);
    Tensor result =
        call.build.pointwise("compare",
                             {valueOrNumber(call, "self", element),
                              valueOrNumber(call, "other", element)},
                             ScalarType::Bool, {{"is", relation}});
    return {result};
  };
}

static Results both(Call &call) {
  return {call.build.pointwise("mul", {call.value("self"), call.value("other")},
                               ScalarType::Bool)};
}

static Results either(Call &call) {
  return {call.build.pointwise("max", {call.value("self"), call.value("other")},
                               ScalarType::Bool)};
}

static Results negation(Call &call) {
  if (call.result().type != ScalarType::Bool)
    refuse("negates the bits of integers");
  return {apply(call, "shift", apply(call, "neg", call.value("self")),
                {{"by", 1.0}})};
}

static Results choice(Call &call, const char *condition, const char *yes,
                      const char *no) {
  std::string element = call.resultElement();
  return {call.build.pointwise("select",
                               {call.value(condition, element),
                                valueOrNumber(call, yes, element),
                                valueOrNumber(call, no, element)},
                               call.result().type)};
}

static Results where(Call &call) {
  return choice(call, "condition", "self", "other");
}

static Results maskedFill(Call &call) {
  return choice(call, "mask", "value", "self");
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Results convert(Call &call) {
  Tensor x = call.operands().front();
  ScalarType from = x.type, to = call.result().type;
  if (x.constant || !isFloating(to)) {
    if (isFloating(from))
      refuse("makes integers of numbers that depend on an input");
    // Integers of another size, or booleans, stay what they are.
    if (to == ScalarType::Bool)
      return {call.build.pointwise(
          "compare", {call.lifted(x), call.build.number(0, call.build.element)},
          to, {{"is", std::string("not_equal")}})};
    return {x};
  }
  return {call.lifted(x)};
}

static Results same(Call &call) { return {call.operands().front()}; }

static Results detached(Call &call) {
  return {apply(call, "stop_gradient", call.value("self"))};
}

static Results dropout(Call &call) {
  static constexpr const char *operation = "dropout";
  if (!call.flag("train") || call.number("p") == 0)
    return {call.tensor("input")};
  return {apply(
      call, operation, call.value("input"),
      {{"rate", call.number("p")},
       {"seed", static_cast<int64_t>(call.build.program.values.size())}})};
}

static const Fold foldSelf = foldOf(
    {"self"}, [](const Values &x) { return x[0]; }, "convert");

static Fold foldAnd() {
  return foldOf(
      {"self", "other"},
      [](const Values &x) { return x[0] != 0 && x[1] != 0 ? 1.0 : 0.0; },
      "and");
}

static Fold foldOr() {
  return foldOf(
      {"self", "other"},
      [](const Values &x) { return x[0] != 0 || x[1] != 0 ? 1.0 : 0.0; }, "or");
}

static Fold foldChoice(std::vector<std::string> arguments) {
  return foldOf(
      std::move(arguments),
      [](const Values &x) { return x[0] != 0 ? x[1] : x[2]; }, "where");
}

const Operators &torch::logicOperators() {
  static const char *unaryArguments = "self", *pair = "self, other",
                    *whereArguments = "condition, self, other",
                    *fillArguments = "self, mask, value";
  Fold opposite =
      foldOf({"self"}, [](const Values &x) { return x[0] == 0 ? 1.0 : 0.0; });
  Fold choose = foldChoice({"condition", "self", "other"});
  Fold fill = foldChoice({"mask", "value", "self"});
  static const Operators rows = {
      {"__and__.Tensor", pair, foldAnd(), both},
      {"logical_and", pair, foldAnd(), both},
      {"bitwise_and.Tensor", pair, foldAnd(), both},
      {"__or__.Tensor", pair, foldOr(), either},
      {"bitwise_or.Tensor", pair, foldOr(), either},
      {"logical_or", pair, foldOr(), either},
      {"bitwise_not", unaryArguments, opposite, negation},
      {"logical_not", unaryArguments, opposite, negation},
      {"where.self", whereArguments, choose, where},
      {"where.ScalarOther", whereArguments, choose, where},
      {"where.ScalarSelf", whereArguments, choose, where},
      {"where.Scalar", whereArguments, choose, where},
      {"masked_fill.Scalar", fillArguments, fill, maskedFill},
      {"masked_fill.Tensor", fillArguments, fill, maskedFill},
      {"_to_copy", "self, dtype=None", foldSelf, convert},
      {"to.dtype", "self, dtype, copy=False", foldSelf, convert},
      {"type_as", "self, other", foldSelf, convert},
      {"clone", unaryArguments, foldSelf, same},
      {"alias", unaryArguments, foldSelf, same},
      {"contiguous", unaryArguments, foldSelf, same},
      {"lift_fresh_copy", unaryArguments, foldSelf, same},
      {"detach", unaryArguments, foldSelf, detached},
      {"dropout", "input, p, train", {}, dropout},
  };
  static const Operators all = [&] {
    Operators found = rows;
    for (auto [name, relation] :
         {std::pair("lt", "less"), std::pair("le", "less_equal"),
          std::pair("eq", "equal"), std::pair("ne", "not_equal"),
          std::pair("gt", "greater"), std::pair("ge", "greater_equal")})
      for (const char *kind : {".Tensor", ".Scalar"})
        found.push_back({std::string(name) + kind, pair,
                         foldComparison(relation), comparison(relation)});
    return found;
  }();
  return all;
}
