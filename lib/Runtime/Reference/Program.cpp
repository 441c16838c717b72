#include "tpsp/Runtime/ReferenceProgram.h"

#include <algorithm>
#include <unordered_map>

using namespace tpsp::reference;

namespace {

/// One operation about to be evaluated: its operands' values, and what its
/// result is to look like.
struct Evaluation {
  const Operation &op;
  Operands operands;
  /// The first operand if nothing needs it afterwards, else null.
  Tensor *expendable = nullptr;
  IndexNames indices;
  Shape shape;
  /// The first precondition that was found violated.
  std::string error;

  const Tensor &operand(size_t i) const { return *operands[i]; }

  void fail(const std::string &why) {
    if (error.empty())
      error = why;
  }

  /// The attribute `name`; if there is none of that type, a failure and its
  /// default.
  template <typename T> T get(const std::string &name) {
    auto it = op.attributes.find(name);
    if (it != op.attributes.end())
      if (const T *value = std::get_if<T>(&it->second))
        return *value;
    fail("lacks the attribute '" + name + "', or has it with another type");
    return {};
  }
  std::string text(const std::string &name) { return get<std::string>(name); }
  double real(const std::string &name) { return get<double>(name); }
  int64_t integer(const std::string &name) { return get<int64_t>(name); }
  IndexNames names(const std::string &name) { return get<IndexNames>(name); }
  bool has(const std::string &name) const {
    return op.attributes.count(name) > 0;
  }
  bool flag(const std::string &name) { return has(name) && get<bool>(name); }

  /// The first operand's data for the result to have: moved if possible.
  Tensor takeFirst() {
    if (expendable)
      return std::move(*expendable);
    return operand(0);
  }

  /// The result of `f(values)` at every element.
  template <typename F> Tensor map(F f) {
    return pointwise(f, operands, indices, shape, &error);
  }

  /// The place of an index of the result in its positions.
  size_t dimOf(const std::string &name) {
    auto it = std::find(indices.begin(), indices.end(), name);
    if (it == indices.end()) {
      fail("has no index '" + name + "' in its result");
      return 0;
    }
    return it - indices.begin();
  }
};

using Evaluator = Tensor (*)(Evaluation &e);
/// How much worse than the best `taken` is as the result of a choice.
using Judge = double (*)(Evaluation &e, const Tensor &taken);

} // namespace

//===----------------------------------------------------------------------===//
// Operations: one function per kind, found by name
//===----------------------------------------------------------------------===//

static Tensor evaluateEinsum(Evaluation &e) {
  return einsum(e.operands, e.indices, e.shape, &e.error);
}

static Tensor evaluateReduce(Evaluation &e) {
  return e.text("kind") == "max" ? reduceMax(e.operand(0), e.indices, &e.error)
                                 : reduceSum(e.operand(0), e.indices, &e.error);
}

static Tensor evaluateBroadcast(Evaluation &e) {
  return e.map([](const double *x) { return *x; });
}

static Tensor evaluateScale(Evaluation &e) {
  double factor = e.real("factor");
  return e.map([=](const double *x) { return factor * *x; });
}

static Tensor evaluateShift(Evaluation &e) {
  double by = e.real("by");
  return e.map([=](const double *x) { return *x + by; });
}

/// Applies the reference's scalar function called `name`.
static Tensor applyFunction(const std::string &name, Evaluation &e) {
  if (const auto *function = findScalarFunction(name))
    return pointwise(*function, e.operands, e.indices, e.shape, &e.error);
  e.fail("has no scalar function '" + name + "' in the reference");
  return {};
}

static Tensor evaluateSlope(Evaluation &e) {
  return applyFunction("slope." + e.text("of"), e);
}

static Tensor evaluateCausalMask(Evaluation &e) {
  size_t query = e.dimOf(e.text("query")), key = e.dimOf(e.text("key"));
  double fill = e.real("fill");
  if (!e.error.empty())
    return {};
  return pointwiseAt(
      [=](const double *x, const int64_t *at) {
        return at[key] <= at[query] ? *x : fill;
      },
      e.operands, e.indices, e.shape, &e.error);
}

/// The columns of the rotation matrices are what rope makes of basis vectors:
/// R[p, out, in, m] is half `out` at m of the rotated vector with ones in half
/// `in`, as a rotation does not mix pairs.
static Tensor evaluateRopeMatrix(Evaluation &e) {
  std::string position = e.text("position"), in = e.text("in");
  std::string out = e.text("out"), pair = e.text("feature");
  int64_t pairs = e.integer("pairs");
  size_t at = e.dimOf(position);
  if (!e.error.empty())
    return {};
  int64_t positions = e.shape[at];
  Tensor basis = pointwiseAt(
      [=](const double *, const int64_t *place) {
        return place[2] / pairs == place[1] ? 1.0 : 0.0;
      },
      {}, {position, in, pair}, {positions, 2, 2 * pairs}, &e.error);
  Tensor rotated =
      rope(basis, position, pair, e.real("theta"), e.flag("inverse"), &e.error);
  rotated = reshape(std::move(rotated), {position, in, out, pair},
                    {positions, 2, 2, pairs}, &e.error);
  return permute(rotated, e.indices, &e.error);
}

static Tensor evaluateSoftmax(Evaluation &e) {
  std::optional<std::string> query;
  if (e.has("causal"))
    query = e.text("causal");
  return softmax(e.operand(0), e.text("over"), e.real("scale"), query,
                 &e.error);
}

static Tensor evaluateRmsNorm(Evaluation &e) {
  const Tensor &gain = e.operand(1);
  return rmsNorm(e.operand(0), &gain, gain.indices, e.real("eps"), &e.error);
}

static Tensor evaluateLayerNorm(Evaluation &e) {
  const Tensor &gain = e.operand(1);
  return layerNorm(e.operand(0), &gain, &e.operand(2), gain.indices,
                   e.real("eps"), &e.error);
}

static Tensor evaluateRope(Evaluation &e) {
  return rope(e.operand(0), e.text("position"), e.text("feature"),
              e.real("theta"), e.flag("inverse"), &e.error);
}

static Tensor evaluateAttention(Evaluation &e) {
  Dropout dropout;
  if (e.has("dropout"))
    dropout = {e.real("dropout"), e.integer("seed")};
  return attention(e.operand(0), e.operand(1), e.operand(2), e.text("query"),
                   e.text("key"), e.text("feature"), e.real("scale"),
                   e.flag("causal"), e.indices, &e.error, dropout);
}

static AttentionForm attentionForm(Evaluation &e) {
  AttentionForm form{e.text("query"), e.text("key"), e.text("feature"),
                     e.real("scale"), e.flag("causal")};
  if (e.has("dropout"))
    form.dropout = {e.real("dropout"), e.integer("seed")};
  return form;
}

static Tensor evaluateAttentionStatistic(Evaluation &e) {
  return attentionStatistic(e.operand(0), e.operand(1), attentionForm(e),
                            e.indices, &e.error);
}

/// Of the row statistics that the operation has, too, it makes no use.
static Tensor evaluateAttentionGradient(Evaluation &e) {
  return attentionGradient(e.operand(0), e.operand(1), e.operand(2),
                           e.operand(4), attentionForm(e), e.integer("of"),
                           &e.error);
}

static Tensor evaluateMax(Evaluation &e) {
  return e.map([](const double *x) { return std::max(x[0], x[1]); });
}

static Tensor evaluateOneHotEinsum(Evaluation &e) {
  Operands ids(e.operands.begin(), e.operands.end() - 1);
  return oneHotEinsum(ids, e.names("indices"), *e.operands.back(), e.indices,
                      e.shape, &e.error);
}

static Tensor evaluateRouter(Evaluation &e) {
  return largest(e.operand(0), e.text("expert"), e.text("choice"), e.indices,
                 e.shape, &e.error);
}

static double shortfallOfRouter(Evaluation &e, const Tensor &taken) {
  return shortfall(e.operand(0), e.text("expert"), e.text("choice"), taken,
                   &e.error);
}

static Tensor evaluateCountEarlier(Evaluation &e) {
  return countEarlier(e.operand(0), e.names("over"), e.integer("values"),
                      &e.error);
}

//===----------------------------------------------------------------------===//
// What the compiler takes apart first: by the definitions in TpspOps.td, for
// programs as they are written
//===----------------------------------------------------------------------===//

static Tensor evaluateEmbedding(Evaluation &e) {
  return oneHotEinsum({e.operands[0]}, {e.text("vocabulary")}, e.operand(1),
                      e.indices, e.shape, &e.error);
}

static Tensor evaluateMean(Evaluation &e) {
  Tensor sum = reduceSum(e.operand(0), e.indices, &e.error);
  double terms = static_cast<double>(e.operand(0).data.size()) /
                 static_cast<double>(elementCount(e.shape));
  return pointwise([=](const double *x) { return *x / terms; }, {&sum},
                   e.indices, e.shape, &e.error);
}

/// -log of the target's probability.
static Tensor evaluateCrossEntropy(Evaluation &e) {
  std::string over = e.text("over");
  Tensor weights =
      softmax(e.operand(0), over, /*scale=*/1, std::nullopt, &e.error);
  Tensor target = oneHotEinsum({e.operands[1]}, {over}, weights, e.indices,
                               e.shape, &e.error);
  return pointwise([](const double *p) { return -std::log(*p); }, {&target},
                   e.indices, e.shape, &e.error);
}

/// How many choices of the same expert come before each: those of the group
/// (the indices that ids and `slots` share), first choices of all tokens first.
static Tensor slotsOf(const Tensor &slots, int64_t experts, Evaluation &e) {
  const Tensor &ids = e.operand(0);
  IndexNames over = {e.text("choice")};
  for (const std::string &name : ids.indices)
    if (name != over.front() && !slots.extent(name))
      over.push_back(name);
  return countEarlier(ids, over, experts, &e.error);
}

static Tensor evaluateDispatch(Evaluation &e) {
  std::string expert = e.text("expert"), slot = e.text("slot");
  Tensor result = full(e.indices, e.shape, 0, &e.error);
  std::optional<int64_t> experts = result.extent(expert);
  if (!experts)
    e.fail("has no index '" + expert + "' in its result");
  if (!e.error.empty())
    return {};
  Tensor slots = slotsOf(result, *experts, e);
  return oneHotEinsum({e.operands[0], &slots}, {expert, slot}, e.operand(1),
                      e.indices, e.shape, &e.error);
}

/// Every choice's part of the expert's results, weighted and added up.
static Tensor evaluateCombine(Evaluation &e) {
  std::string expert = e.text("expert"), slot = e.text("slot");
  const Tensor &ids = e.operand(0), &v = e.operand(2);
  std::optional<int64_t> experts = v.extent(expert);
  if (!experts)
    e.fail("operand #2 has no index '" + expert + "'");
  if (!e.error.empty())
    return {};
  Tensor slots = slotsOf(v, *experts, e);
  IndexNames indices = ids.indices;
  Shape shape = ids.shape;
  for (size_t dim = 0; dim < v.indices.size(); ++dim)
    if (v.indices[dim] != expert && v.indices[dim] != slot &&
        !ids.extent(v.indices[dim])) {
      indices.push_back(v.indices[dim]);
      shape.push_back(v.shape[dim]);
    }
  Tensor each =
      oneHotEinsum({&ids, &slots}, {expert, slot}, v, indices, shape, &e.error);
  return einsum({e.operands[1], &each}, e.indices, e.shape, &e.error);
}

//===----------------------------------------------------------------------===//
// Chance, views
//===----------------------------------------------------------------------===//

static Tensor evaluateDropoutMask(Evaluation &e) {
  if (e.has("part")) {
    e.fail("is a part of a larger tensor; evaluate the program before "
           "tpsp-micro-batch");
    return {};
  }
  return dropoutMask(e.indices, e.shape, e.real("rate"), e.integer("seed"),
                     &e.error);
}

static Tensor masked(const Tensor &mask, double scale, Evaluation &e) {
  return pointwise(
      [=](const double *v) { return v[1] != 0 ? scale * v[0] : 0.0; },
      {e.operands[0], &mask}, e.indices, e.shape, &e.error);
}

static Tensor evaluateDropout(Evaluation &e) {
  Tensor mask = evaluateDropoutMask(e);
  return masked(mask, 1 / (1 - e.real("rate")), e);
}

static Tensor evaluateApplyMask(Evaluation &e) {
  return masked(e.operand(1), e.real("scale"), e);
}

static Tensor evaluateTake(Evaluation &e) {
  return take(e.operand(0), e.text("index"), e.integer("at"), &e.error);
}

static Tensor evaluateStack(Evaluation &e) {
  return stack(e.operands, e.text("index"), e.indices, &e.error);
}

/// Views and changes of placement: the same elements in the same order.
static Tensor evaluateView(Evaluation &e) {
  return reshape(e.takeFirst(), e.indices, e.shape, &e.error);
}

/// An operation whose name is that of the reference's scalar function.
static Tensor evaluateFunction(Evaluation &e) {
  return applyFunction(e.op.name, e);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {

struct Row {
  Evaluator evaluator = nullptr;
  /// How many operands it reads at least.
  size_t operands = 0;
  /// Of operations that choose, else null.
  Judge judge = nullptr;
};

const std::unordered_map<std::string, Row> &table() {
  static const std::unordered_map<std::string, Row> rows = [] {
    std::unordered_map<std::string, Row> all = {
        {"einsum", {evaluateEinsum, 0}},
        {"reduce", {evaluateReduce, 1}},
        {"broadcast", {evaluateBroadcast, 1}},
        {"scale", {evaluateScale, 1}},
        {"shift", {evaluateShift, 1}},
        {"slope", {evaluateSlope, 1}},
        {"causal_mask", {evaluateCausalMask, 1}},
        {"rope_matrix", {evaluateRopeMatrix, 0}},
        {"softmax", {evaluateSoftmax, 1}},
        {"rms_norm", {evaluateRmsNorm, 2}},
        {"layer_norm", {evaluateLayerNorm, 3}},
        {"rope", {evaluateRope, 1}},
        {"attention", {evaluateAttention, 3}},
        {"attention_statistic", {evaluateAttentionStatistic, 2}},
        {"attention_gradient", {evaluateAttentionGradient, 6}},
        {"max", {evaluateMax, 2}},
        {"convert", {evaluateBroadcast, 1}},
        {"one_hot_einsum", {evaluateOneHotEinsum, 2}},
        {"router", {evaluateRouter, 1, shortfallOfRouter}},
        {"count_earlier", {evaluateCountEarlier, 1}},
        {"embedding", {evaluateEmbedding, 2}},
        {"mean", {evaluateMean, 1}},
        {"cross_entropy", {evaluateCrossEntropy, 2}},
        {"dispatch", {evaluateDispatch, 2}},
        {"combine", {evaluateCombine, 3}},
        {"dropout", {evaluateDropout, 1}},
        {"dropout_mask", {evaluateDropoutMask, 0}},
        {"apply_mask", {evaluateApplyMask, 2}},
        {"take", {evaluateTake, 1}},
        {"stack", {evaluateStack, 1}}};
    for (const char *view :
         {"rename", "split", "merge", "reshard", "stop_gradient"})
      all[view] = {evaluateView, 1};
    for (const char *nary : {"add", "mul"})
      all[nary] = {evaluateFunction, 1};
    for (const char *binary : {"sub", "div"})
      all[binary] = {evaluateFunction, 2};
    for (const char *unary :
         {"neg", "exp", "log", "tanh", "sqrt", "rsqrt", "square", "sigmoid",
          "relu", "silu", "gelu", "gelu_erf"})
      all[unary] = {evaluateFunction, 1};
    return all;
  }();
  return rows;
}

Row find(const std::string &name) {
  auto it = table().find(name);
  return it == table().end() ? Row() : it->second;
}

std::string joined(const IndexNames &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return "[" + text + "]";
}

bool fits(const Tensor &tensor, const ValueType &type) {
  return tensor.isValid() && tensor.indices == type.indices &&
         tensor.shape == type.shape;
}

/// The values of a program under evaluation.
class Run {
public:
  /// `choices` may be null.
  Run(const Program &program, const std::vector<const Tensor *> &arguments,
      std::vector<Choice> *choices)
      : program(program), slots(program.values.size()) {
    if (choices)
      for (Choice &choice : *choices)
        chosen[choice.value] = &choice;
    for (size_t i = 0; i < program.arguments; ++i)
      slots[i].borrowed = arguments[i];
    for (const Operation &op : program.operations)
      for (size_t operand : op.operands)
        ++slots[operand].uses;
    for (size_t result : program.results)
      ++slots[result].uses;
  }

  /// Evaluates operation `number`; "" or what is wrong.
  std::string evaluate(size_t number) {
    const Operation &op = program.operations[number];
    Row row = find(op.name);
    if (!row.evaluator)
      return "has no evaluation in the reference";
    if (op.operands.size() < row.operands)
      return "has " + std::to_string(op.operands.size()) + " operands of " +
             std::to_string(row.operands);
    size_t result = program.arguments + number;
    Evaluation evaluation = prepare(op, program.values[result]);
    Tensor value = valueOf(row, evaluation, result);
    if (!evaluation.error.empty())
      return evaluation.error;
    if (!fits(value, program.values[result]))
      return "was not evaluated to the indices of its type, " +
             joined(program.values[result].indices);
    for (size_t operand : op.operands)
      release(operand);
    if (slots[result].uses > 0)
      slots[result].owned = std::move(value);
    return "";
  }

  std::vector<Tensor> takeResults() {
    std::vector<Tensor> results;
    for (size_t number : program.results) {
      Slot &slot = slots[number];
      if (--slot.uses == 0 && !slot.borrowed)
        results.push_back(std::move(slot.owned));
      else
        results.push_back(slot.get());
    }
    return results;
  }

private:
  struct Slot {
    const Tensor &get() const { return borrowed ? *borrowed : owned; }

    Tensor owned;
    /// Set for arguments, which are the caller's.
    const Tensor *borrowed = nullptr;
    /// Uses that have not been evaluated yet.
    size_t uses = 0;
  };

  /// As the reference has it, or as the run chose.
  Tensor valueOf(const Row &row, Evaluation &evaluation, size_t result) {
    auto choice = chosen.find(result);
    if (choice == chosen.end())
      return row.evaluator(evaluation);
    choice->second->shortfall = row.judge(evaluation, choice->second->taken);
    return choice->second->taken;
  }

  Evaluation prepare(const Operation &op, const ValueType &type) {
    Evaluation evaluation{op, {}, nullptr, type.indices, type.shape, ""};
    for (size_t operand : op.operands)
      evaluation.operands.push_back(&slots[operand].get());
    if (!op.operands.empty()) {
      Slot &first = slots[op.operands[0]];
      if (!first.borrowed && first.uses == 1)
        evaluation.expendable = &first.owned;
    }
    return evaluation;
  }

  /// Counts one use, and frees what has none left.
  void release(size_t value) {
    if (--slots[value].uses == 0)
      slots[value].owned = Tensor();
  }

  const Program &program;
  std::vector<Slot> slots;
  /// By the number of the value.
  std::unordered_map<size_t, Choice *> chosen;
};

/// Whether the numbers of a program refer to something; "" or what is wrong.
std::string checkNumbers(const Program &program) {
  if (program.arguments > program.values.size() ||
      program.values.size() - program.arguments != program.operations.size())
    return "the reference program's values do not fit its operations";
  for (size_t i = 0; i < program.operations.size(); ++i)
    for (size_t operand : program.operations[i].operands)
      if (operand >= program.arguments + i)
        return "operation " + std::to_string(i) +
               " of the reference program reads a value that does not exist "
               "yet";
  for (size_t result : program.results)
    if (result >= program.values.size())
      return "a result of the reference program does not exist";
  return "";
}

std::string checkArguments(const Program &program,
                           const std::vector<const Tensor *> &arguments) {
  if (arguments.size() != program.arguments)
    return "the reference program takes " + std::to_string(program.arguments) +
           " arguments, not " + std::to_string(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i)
    if (!fits(*arguments[i], program.values[i]))
      return "argument #" + std::to_string(i) +
             " does not have the names and shape of " +
             joined(program.values[i].indices);
  return "";
}

std::string checkChoices(const Program &program,
                         const std::vector<Choice> &choices) {
  for (const Choice &choice : choices)
    if (!isChoice(program, choice.value) ||
        !fits(choice.taken, program.values[choice.value]))
      return "what the run chose as value " + std::to_string(choice.value) +
             " is no choice of the reference program, or another tensor";
  return "";
}

} // namespace

bool tpsp::reference::isChoice(const Program &program, size_t value) {
  if (value < program.arguments ||
      value - program.arguments >= program.operations.size())
    return false;
  return find(program.operations[value - program.arguments].name).judge;
}

std::string tpsp::reference::evaluate(
    const Program &program, const std::vector<const Tensor *> &arguments,
    std::vector<Tensor> &results, const Progress &progress,
    std::vector<Choice> *choices) {
  if (std::string problem = checkNumbers(program); !problem.empty())
    return problem;
  if (std::string problem = checkArguments(program, arguments);
      !problem.empty())
    return problem;
  if (choices)
    if (std::string problem = checkChoices(program, *choices); !problem.empty())
      return problem;
  Run run(program, arguments, choices);
  for (size_t i = 0; i < program.operations.size(); ++i) {
    const Operation &op = program.operations[i];
    if (std::string problem = run.evaluate(i); !problem.empty())
      return op.location + ": 'tpsp." + op.name + "' " + problem;
    if (progress)
      progress(i + 1, program.operations.size());
  }
  results = run.takeResults();
  return "";
}
