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

/// The precision of two floating-point types together.
static ScalarType promoted(ScalarType a, ScalarType b) {
  if (bytesOf(a) != bytesOf(b))
    return bytesOf(a) > bytesOf(b) ? a : b;
  return a == b ? a : ScalarType::F32;
}

/// The precision in which two operands are compared: that of floating-point
/// tensors with dimensions, or else of those without. Numbers have none.
static std::string comparedIn(const Call &call) {
  std::optional<ScalarType> ofTensors, ofScalars;
  for (const char *name : {"self", "other"}) {
    if (!call.has(name) || !call.isTensor(name))
      continue;
    Tensor tensor = call.tensor(name);
    auto &type = call.build.sizes(tensor).empty() ? ofScalars : ofTensors;
    if (isFloating(tensor.type))
      type = promoted(type.value_or(tensor.type), tensor.type);
  }
  if (ofTensors || ofScalars)
    return elementOf(ofTensors ? *ofTensors : *ofScalars);
  return call.build.exact;
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

/// 1 where an operand is not 0, and 0 elsewhere.
static Tensor truthOf(Call &call, const char *name) {
  Tensor x = call.tensor(name);
  if (x.type == ScalarType::Bool)
    return call.lifted(x);
  std::string element =
      isFloating(x.type) ? elementOf(x.type) : call.build.exact;
  Tensor truth = call.build.pointwise(
      "compare", {call.lifted(x, element), call.build.number(0, element)},
      ScalarType::Bool, {{"is", std::string("not_equal")}});
  return call.build.converted(truth, call.resultElement());
}

/// Bits of integers are combined in constants only.
static void checkBooleans(const Call &call) {
  if (call.result().type != ScalarType::Bool)
    refuse("combines the bits of integers that depend on an input");
}

static Results both(Call &call) {
  checkBooleans(call);
  return {call.build.pointwise("mul",
                               {truthOf(call, "self"), truthOf(call, "other")},
                               ScalarType::Bool)};
}

static Results either(Call &call) {
  checkBooleans(call);
  return {call.build.pointwise("max",
                               {truthOf(call, "self"), truthOf(call, "other")},
                               ScalarType::Bool)};
}

static Results negation(Call &call) {
  checkBooleans(call);
  return {apply(call, "shift", apply(call, "neg", truthOf(call, "self")),
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
  Tensor x = call.tensor("self");
  ScalarType from = x.type, to = call.result().type;
  if (!x.constant && to == ScalarType::Bool)
    return {truthOf(call, "self")};
  if (x.constant || !isFloating(to)) {
    if (isFloating(from))
      refuse("makes integers of numbers that depend on an input");
    // Integers of another size stay what they are.
    return {x};
  }
  return {call.lifted(x)};
}

static Results same(Call &call) { return {call.tensor("self")}; }

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

static double isBoth(const Values &x) { return x[0] != 0 && x[1] != 0; }
static double isEither(const Values &x) { return x[0] != 0 || x[1] != 0; }
static double isNeither(const Values &x) { return x[0] == 0; }

static int64_t bits(double x) { return static_cast<int64_t>(x); }
static double bitsAnd(const Values &x) {
  return static_cast<double>(bits(x[0]) & bits(x[1]));
}
static double bitsOr(const Values &x) {
  return static_cast<double>(bits(x[0]) | bits(x[1]));
}
static double bitsNot(const Values &x) {
  return static_cast<double>(~bits(x[0]));
}

using Function = double (*)(const Values &);

/// A function of truth values, called `name`, and one of bits of integers.
static Fold foldBits(const std::vector<std::string> &arguments, Function truth,
                     Function ofBits, const std::string &name) {
  Fold ofTruth = foldOf(arguments, truth, name),
       ofIntegers = foldOf(arguments, ofBits);
  return [=](const Call &call) {
    return call.result().type == ScalarType::Bool ? ofTruth(call)
                                                  : ofIntegers(call);
  };
}

static Fold foldChoice(std::vector<std::string> arguments) {
  return foldOf(std::move(arguments), chosen, "where");
}

const Operators &torch::logicOperators() {
  static const char *unaryArguments = "self", *pair = "self, other",
                    *whereArguments = "condition, self, other",
                    *fillArguments = "self, mask, value";
  const std::vector<std::string> one = {"self"}, two = {"self", "other"};
  Fold conjunction = foldBits(two, isBoth, bitsAnd, "and");
  Fold disjunction = foldBits(two, isEither, bitsOr, "or");
  Fold opposite = foldBits(one, isNeither, bitsNot, "not");
  Fold choose = foldChoice({"condition", "self", "other"});
  Fold fill = foldChoice({"mask", "value", "self"});
  static const Operators rows = {
      {"__and__.Tensor", pair, conjunction, both},
      {"logical_and", pair, conjunction, both},
      {"bitwise_and.Tensor", pair, conjunction, both},
      {"__or__.Tensor", pair, disjunction, either},
      {"bitwise_or.Tensor", pair, disjunction, either},
      {"logical_or", pair, disjunction, either},
      {"bitwise_not", unaryArguments, opposite, negation},
      {"logical_not", unaryArguments, opposite, negation},
      {"where.self", whereArguments, choose, where},
      {"where.ScalarOther", whereArguments, choose, where},
      {"where.ScalarSelf", whereArguments, choose, where},
      {"where.Scalar", whereArguments, choose, where},
      {"masked_fill.Scalar", fillArguments, fill, maskedFill},
      {"masked_fill.Tensor", fillArguments, fill, maskedFill},
      {"_to_copy", "self, ~dtype=None", foldSelf, convert},
      {"to.dtype", "self, ~dtype, ~copy=False", foldSelf, convert},
      {"type_as", "self, ~other", foldSelf, convert},
      {"clone", unaryArguments, foldSelf, same},
      {"alias", unaryArguments, foldSelf, same},
      {"contiguous", unaryArguments, foldSelf, same},
      {"lift_fresh_copy", unaryArguments, foldSelf, same},
      {"detach", unaryArguments, foldSelf, detached},
      {"dropout", "input, ~p, train", {}, dropout},
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
