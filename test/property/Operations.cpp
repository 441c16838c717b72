// The operations of the language, one entry each. A new operation needs a row,
// and a function that applies it if its form is new. Scalar functions need
// none.
#include "SequenceOperations.h"
#include "ViewOperations.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"
#include "tpsp/Runtime/Reference.h"

#include <algorithm>
#include <cmath>

using namespace tpsp::property;
namespace reference = tpsp::reference;
using Builder = ProgramBuilder;

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

/// Returns some of these indices, in any order.
static std::vector<Dim> someOf(Builder &b, std::vector<Dim> dims) {
  double kept = b.random.chance(0.1) ? 0.0 : 0.65;
  std::vector<Dim> some;
  for (const Dim &dim : dims)
    if (b.random.chance(kept))
      some.push_back(dim);
  if (b.random.chance(0.5))
    b.random.shuffle(some);
  while (!b.isSmall(some))
    some.pop_back();
  return some;
}

/// The growth of a sum of random signs: the root of the number of terms.
static double growth(const std::vector<Dim> &from, const std::vector<Dim> &to) {
  double terms = 1;
  for (const Dim &dim : from)
    if (std::none_of(to.begin(), to.end(),
                     [&](const Dim &kept) { return kept.name == dim.name; }))
      terms *= double(dim.extent);
  return terms;
}

static bool applyEinsumOfOne(Builder &b) {
  auto x = b.pick();
  std::vector<Dim> dims = someOf(b, b.tensor(*x).dims);
  double magnitude = b.range(*x).magnitude * growth(b.tensor(*x).dims, dims);
  if (magnitude > largest)
    return false;
  b.add("einsum", {*x}, dims, {magnitude, b.range(*x).positive});
  return true;
}

/// Makes a weight with some of an activation's indices and some new ones.
static ValueId weightFor(Builder &b, ValueId x) {
  std::vector<Dim> dims = b.someIndices(2);
  for (const Dim &dim : b.tensor(x).dims)
    if (b.random.chance(0.5) &&
        std::none_of(dims.begin(), dims.end(),
                     [&](const Dim &own) { return own.name == dim.name; }))
      dims.push_back(dim);
  b.random.shuffle(dims);
  while (!b.isSmall(dims) || dims.size() > 4)
    dims.pop_back();
  return b.argument(dims, /*isParameter=*/true);
}

static bool applyEinsumOfTwo(Builder &b) {
  auto x = b.pick([&](ValueId value) {
    return !b.onlyArguments || !b.program.argument(value);
  });
  if (!x)
    return false;
  std::optional<ValueId> w;
  if (b.random.chance(0.6))
    w = weightFor(b, *x);
  else
    w = b.pickOther(*x, [](ValueId) { return true; });
  if (!w)
    return false;
  std::vector<Dim> all = b.together(*x, *w);
  std::vector<Dim> dims = someOf(b, all);
  double magnitude =
      b.range(*x).magnitude * b.range(*w).magnitude * growth(all, dims);
  int64_t work = 1;
  for (const Dim &dim : all)
    work *= dim.extent;
  if (magnitude > largest || work > 20000)
    return false;
  std::vector<ValueId> operands = {*x, *w};
  b.random.shuffle(operands);
  b.add("einsum", operands, dims,
        {magnitude, b.range(*x).positive && b.range(*w).positive});
  return true;
}

template <bool isMax> static bool applyReduce(Builder &b) {
  if (isMax && b.program.grad)
    return false; // a maximum has no gradient
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  std::vector<Dim> dims = someOf(b, b.tensor(*x).dims);
  double magnitude = b.range(*x).magnitude;
  if (!isMax)
    magnitude *= growth(b.tensor(*x).dims, dims);
  if (magnitude > largest)
    return false;
  b.add("reduce", {*x}, dims, {magnitude, b.range(*x).positive},
        isMax ? "{kind = \"max\"}" : "{kind = \"sum\"}");
  return true;
}

static bool applyMean(Builder &b) {
  auto x = b.pick();
  b.add("mean", {*x}, someOf(b, b.tensor(*x).dims), b.range(*x));
  return true;
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

/// Returns the value's indices, sometimes in another order.
static std::vector<Dim> indicesOf(Builder &b, ValueId x) {
  std::vector<Dim> dims = b.tensor(x).dims;
  if (b.random.chance(0.2))
    b.random.shuffle(dims);
  return dims;
}

/// Returns the largest |f(x)| for |x| up to `magnitude`.
static double largestOf(const reference::ScalarFunction &f, double magnitude) {
  constexpr int steps = 32;
  double most = 0;
  for (int i = -steps; i <= steps; ++i) {
    double x = magnitude * i / steps;
    most = std::max(most, std::abs(f.evaluate(&x, 1)));
  }
  return most;
}

/// Adds y = f(x), for numbers at which f does not lose digits.
static bool applyFunction(Builder &b, const std::string &mnemonic) {
  constexpr double steepest = 64;
  const auto &value = *reference::findScalarFunction(mnemonic);
  const auto &slope = *reference::findScalarFunction("slope." + mnemonic);
  auto x = b.pick([&](ValueId v) {
    double magnitude = b.range(v).magnitude;
    return largestOf(value, magnitude) <= largest &&
           largestOf(slope, magnitude) <= steepest;
  });
  if (!x)
    return false;
  b.add(mnemonic, {*x}, indicesOf(b, *x),
        {largestOf(value, b.range(*x).magnitude), false});
  return true;
}

/// Adds a function of positive numbers.
static bool applyOfPositive(Builder &b, const std::string &mnemonic) {
  auto x = b.pick([&](ValueId v) { return b.range(v).magnitude <= 30; });
  if (!x)
    return false;
  ValueId base = b.positive(*x);
  b.add(mnemonic, {base}, indicesOf(b, base), {30, false});
  return true;
}

/// Adds a rule for every scalar function of the language.
static void addFunctions(std::vector<OperationRule> &rules) {
  for (const tpsp::ScalarFunction &f : tpsp::scalarFunctions()) {
    auto *apply = f.takesPositive ? applyOfPositive : applyFunction;
    Linear linear = f.isLinear ? Linear::Jointly : Linear::No;
    rules.push_back(
        {f.name.data(), 1, linear, false,
         [apply, name = f.name.str()](Builder &b) { return apply(b, name); }});
  }
}

/// Picks two values whose indices fit on one tensor. If they differ, the values
/// are broadcast.
static bool pickTwo(Builder &b, ValueId &x, ValueId &y) {
  auto first = b.pick();
  auto second = b.pickOther(
      *first, [&](ValueId v) { return b.isSmall(b.together(*first, v)); });
  if (!second)
    return false;
  x = *first;
  y = *second;
  if (b.random.chance(0.3))
    std::swap(x, y);
  return true;
}

static std::vector<Dim> indicesOfBoth(Builder &b, ValueId x, ValueId y) {
  std::vector<Dim> dims = b.together(x, y);
  if (b.random.chance(0.3))
    b.random.shuffle(dims);
  return dims;
}

static bool applyAdd(Builder &b) {
  ValueId x, y;
  if (!pickTwo(b, x, y))
    return false;
  double magnitude = b.range(x).magnitude + b.range(y).magnitude;
  std::vector<ValueId> operands = {x, y};
  if (b.random.chance(0.3)) {
    operands.push_back(b.random.chance(0.5) ? x : y);
    magnitude *= 2;
  }
  if (magnitude > largest)
    return false;
  b.add("add", operands, indicesOfBoth(b, x, y), {magnitude, false});
  return true;
}

static bool applySub(Builder &b) {
  ValueId x, y;
  // The difference of a value and itself is zero: nothing to compare.
  if (!pickTwo(b, x, y) || x == y)
    return false;
  double magnitude = b.range(x).magnitude + b.range(y).magnitude;
  if (magnitude > largest)
    return false;
  b.add("sub", {x, y}, indicesOfBoth(b, x, y), {magnitude, false});
  return true;
}

static bool applyMul(Builder &b) {
  ValueId x, y;
  if (!pickTwo(b, x, y))
    return false;
  double magnitude = b.range(x).magnitude * b.range(y).magnitude;
  if (magnitude > largest)
    return false;
  b.add("mul", {x, y}, indicesOfBoth(b, x, y), {magnitude, false});
  return true;
}

static bool applyDiv(Builder &b) {
  ValueId x, y;
  // With onlyArguments the denominator must not be made here, since it would be
  // an activation.
  if (!pickTwo(b, x, y) || b.range(y).magnitude > 30 ||
      (b.onlyArguments && !b.range(y).positive))
    return false;
  double magnitude = b.range(x).magnitude * 20;
  if (magnitude > largest)
    return false;
  ValueId denominator = b.positive(y);
  b.add("div", {x, denominator}, indicesOfBoth(b, x, denominator),
        {magnitude, false});
  return true;
}

static bool applyBroadcast(Builder &b) {
  auto x = b.pick();
  std::vector<Dim> dims = b.tensor(*x).dims;
  for (const Dim &dim : b.someIndices(1 + b.random.below(2)))
    if (!b.tensor(*x).find(dim.name))
      dims.push_back(dim);
  b.random.shuffle(dims);
  if (!b.isSmall(dims))
    return false;
  b.add("broadcast", {*x}, dims, b.range(*x));
  return true;
}

static bool applyScale(Builder &b) {
  auto x = b.pick();
  b.add("scale", {*x}, indicesOf(b, *x), {b.range(*x).magnitude, false},
        "{factor = -0.75 : f64}");
  return true;
}

static bool applyShift(Builder &b) {
  auto x = b.pick();
  b.add("shift", {*x}, indicesOf(b, *x),
        {b.range(*x).magnitude + 0.5, b.range(*x).positive},
        "{by = 0.375 : f64}");
  return true;
}

static bool applyDropout(Builder &b) {
  auto x = b.pick();
  b.add("dropout", {*x}, indicesOf(b, *x), {2 * b.range(*x).magnitude, false},
        "{rate = 0.25 : f64, seed = " + std::to_string(b.random.below(3)) +
            "}");
  return true;
}

static bool applySelect(Builder &b) {
  ValueId x, y;
  if (b.onlyArguments || !pickTwo(b, x, y))
    return false;
  // Compares 2 or 0 with 1, which has the same result in every precision.
  std::vector<Dim> dims = indicesOf(b, x);
  ValueId zeros = b.add("scale", {x}, dims, {0, false}, "{factor = 0.0 : f64}");
  ValueId ones = b.add("shift", {zeros}, dims, {1, true}, "{by = 1.0 : f64}");
  ValueId twos = b.add("dropout", {ones}, dims, {2, false},
                       "{rate = 0.5 : f64, seed = 5}");
  ValueId isKept =
      b.add("compare", {twos, ones}, dims, {1, false}, "{is = \"greater\"}");
  b.add("select", {isKept, x, y}, indicesOfBoth(b, x, y),
        {std::max(b.range(x).magnitude, b.range(y).magnitude), false});
  return true;
}

static bool applyCausalMask(Builder &b) {
  auto x = b.pick([&](ValueId v) { return b.tensor(v).dims.size() >= 2; });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  b.add("causal_mask", {*x}, indicesOf(b, *x), {b.range(*x).magnitude, false},
        "{query = " + quoted(dims[0].name) + ", key = " + quoted(dims[1].name) +
            ", fill = 0.25 : f64" +
            (b.random.chance(0.5) ? ", window = 2}" : "}"));
  return true;
}

/// Adds a maximum of numbers that are never equal, so that there is a gradient.
/// One is between -1 and 1, the other around -3 or 3.
static bool applyMax(Builder &b) {
  ValueId x, y;
  if (!pickTwo(b, x, y))
    return false;
  std::vector<Dim> dims = b.tensor(y).dims;
  ValueId near = b.add("tanh", {x}, b.tensor(x).dims, {1, false});
  ValueId far = b.add("tanh", {y}, dims, {1, false});
  ValueId threes =
      b.add("constant", {}, dims, {3, true}, "{value = 3.0 : f64}");
  ValueId sixes = b.add("dropout", {threes}, dims, {6, false},
                        "{rate = 0.5 : f64, seed = 5}");
  ValueId apart = b.add("sub", {sixes, threes}, dims, {3, false});
  ValueId other = b.add("add", {far, apart}, dims, {4, false});
  b.add("max", {near, other}, indicesOfBoth(b, near, other), {4, false});
  return true;
}

/// Adds an operation without operands to a value that has its indices.
static bool applyMade(Builder &b, const std::string &mnemonic, double most,
                      const std::string &attributes, ValueId x) {
  ValueId made =
      b.add(mnemonic, {}, b.tensor(x).dims, {most, false}, attributes);
  b.add("add", {x, made}, indicesOf(b, x),
        {b.range(x).magnitude + most, false});
  b.program.operations.back().linear = Linear::Jointly; // seed 88000140
  return true;
}

static bool applyConstant(Builder &b) {
  auto x = b.pick();
  return x && applyMade(b, "constant", 0.75, "{value = 0.75 : f64}", *x);
}

static bool applyIota(Builder &b) {
  auto x = b.pick([&](ValueId v) { return !b.tensor(v).dims.empty(); });
  if (!x)
    return false;
  Dim along = b.random.of(b.tensor(*x).dims);
  return applyMade(b, "iota", double(along.extent),
                   "{index = " + quoted(along.name) + "}", *x);
}

static bool applyClamp(Builder &b) {
  auto x = b.pick();
  if (!x)
    return false;
  const char *bounds[] = {"{low = -0.3 : f64}", "{high = 0.4 : f64}",
                          "{low = -0.45 : f64, high = 0.6 : f64}"}; // no f16
  b.add("clamp", {*x}, indicesOf(b, *x), {b.range(*x).magnitude, false},
        b.random.of(bounds));
  return true;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Adds a norm over one or two of the indices, with a gain and perhaps a bias.
static bool applyNorm(Builder &b, const char *mnemonic, bool hasBias) {
  auto x = b.pick([&](ValueId v) {
    return !b.tensor(v).dims.empty() &&
           (!b.onlyArguments || !b.program.argument(v));
  });
  if (!x)
    return false;
  std::vector<Dim> row = b.tensor(*x).dims;
  b.random.shuffle(row);
  row.resize(row.size() > 1 && b.random.chance(0.3) ? 2 : 1);
  if (!b.canSquare(*x, row))
    return false;
  std::vector<ValueId> operands = {*x, b.argument(row, true)};
  if (hasBias)
    operands.push_back(b.argument(row, true));
  // The eps is larger than a model's, so that a row of one element has a
  // gradient worth comparing.
  b.add(mnemonic, operands, b.tensor(*x).dims, {8, false},
        "{eps = 0.0625 : f64}");
  return true;
}
static bool applyRmsNorm(Builder &b) { return applyNorm(b, "rms_norm", false); }
static bool applyLayerNorm(Builder &b) {
  return applyNorm(b, "layer_norm", true);
}

static bool applyRope(Builder &b) {
  auto even = [](const Dim &dim) { return dim.extent % 2 == 0; };
  auto x = b.pick([&](ValueId v) {
    const std::vector<Dim> &dims = b.tensor(v).dims;
    return dims.size() >= 2 && std::any_of(dims.begin(), dims.end(), even);
  });
  if (!x)
    return false;
  std::vector<Dim> dims = b.tensor(*x).dims;
  b.random.shuffle(dims);
  auto feature = std::find_if(dims.begin(), dims.end(), even);
  std::swap(*feature, dims.back());
  b.add("rope", {*x}, b.tensor(*x).dims, {2 * b.range(*x).magnitude, false},
        "{position = " + quoted(dims.front().name) + ", feature = " +
            quoted(dims.back().name) + ", theta = 100.0 : f64" +
            (b.random.chance(0.2) ? ", stretch = 4, trained = 40, "
                                    "slow_turns = 1, fast_turns = 3"
                                  : "") +
            (b.random.chance(0.3) ? ", inverse}" : "}"));
  return true;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

const std::vector<OperationRule> &tpsp::property::numberRules() {
  static const std::vector<OperationRule> rules = [] {
    std::vector<OperationRule> all = {
        {"einsum", 20, Linear::InEach, false, applyEinsumOfTwo},
        {"einsum", 4, Linear::InEach, false, applyEinsumOfOne},
        {"reduce", 5, Linear::Jointly, false, applyReduce<false>},
        {"reduce", 3, Linear::No, false, applyReduce<true>},
        {"add", 8, Linear::Jointly, false, applyAdd},
        {"sub", 4, Linear::Jointly, false, applySub},
        {"mul", 6, Linear::InEach, false, applyMul},
        {"div", 3, Linear::No, false, applyDiv},
        {"broadcast", 3, Linear::Jointly, false, applyBroadcast},
        {"scale", 2, Linear::Jointly, false, applyScale},
        {"shift", 1, Linear::No, false, applyShift},
        {"mean", 2, Linear::Jointly, false, applyMean},
        {"dropout", 4, Linear::InEach, false, applyDropout},
        {"select", 3, Linear::No, false, applySelect},
        {"take", 2, Linear::Jointly, false, applyTake},
        {"stack", 2, Linear::Jointly, false, applyStack},
        {"concat", 2, Linear::Jointly, false, applyConcat},
        {"cut", 2, Linear::Jointly, false, applyCut},
        {"pad", 2, Linear::No, false, applyPad},
        {"constant", 1, Linear::No, false, applyConstant},
        {"iota", 1, Linear::No, false, applyIota},
        {"max", 2, Linear::No, false, applyMax},
        {"clamp", 2, Linear::No, false, applyClamp},
        {"causal_mask", 3, Linear::No, false, applyCausalMask},
        {"end_mask", 1, Linear::Jointly, false, applyEndMask<true>},
        {"end_mask", 1, Linear::No, false, applyEndMask<false>},
        {"rms_norm", 4, Linear::No, false, applyRmsNorm},
        {"layer_norm", 4, Linear::No, false, applyLayerNorm},
        {"rope", 4, Linear::Jointly, false, applyRope},
        {"scan", 4, Linear::No, false, applyScan},
        {"cumsum", 3, Linear::Jointly, false, applyCumsum},
        {"delay", 3, Linear::Jointly, false, applyDelay},
        {"rename", 4, Linear::Jointly, false, applyRename},
        {"split", 4, Linear::Jointly, false, applySplit},
        {"merge", 4, Linear::Jointly, false, applyMerge},
        {"reshard", 3, Linear::Jointly, false, applyReshard},
    };
    addFunctions(all);
    addAttentionRules(all);
    return all;
  }();
  return rules;
}
