#include "tpsp/Runtime/Jit/ReferenceWalker.h"

#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace tpsp;

using reference::IndexNames;
using reference::Shape;
using reference::Tensor;

//===----------------------------------------------------------------------===//
// Types and messages
//===----------------------------------------------------------------------===//

IndexNames tpsp::referenceIndices(Type type) {
  IndexNames names;
  for (StringRef name : indexNames(type))
    names.push_back(name.str());
  return names;
}

Shape tpsp::referenceShape(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return Shape(shape.begin(), shape.end());
}

static bool fits(const Tensor &tensor, Type type) {
  return tensor.isValid() && tensor.indices == referenceIndices(type) &&
         tensor.shape == referenceShape(type);
}

/// "loc: 'what' message".
static llvm::Error errorAt(Operation *op, const Twine &message) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << op->getLoc() << ": '" << op->getName() << "' " << message;
  return llvm::createStringError(text);
}

//===----------------------------------------------------------------------===//
// Operations: one function per kind, found by name
//===----------------------------------------------------------------------===//

namespace {

/// One operation about to be evaluated: its operands' values, and what its
/// result is to look like.
struct Evaluation {
  reference::Operands operands;
  /// The first operand if nothing needs it afterwards, else null.
  Tensor *expendable = nullptr;
  IndexNames indices;
  Shape shape;
  /// The first precondition that the reference found violated.
  std::string error;

  const Tensor &operand(size_t i) const { return *operands[i]; }

  /// The first operand's data for the result to have: moved if possible.
  Tensor takeFirst() {
    if (expendable)
      return std::move(*expendable);
    return operand(0);
  }

  /// The result of `f(values)` at every element.
  template <typename F> Tensor map(F f) {
    return reference::pointwise(f, operands, indices, shape, &error);
  }

  /// The place of an index of the result in its positions.
  size_t dimOf(StringRef name) const {
    auto it = llvm::find(indices, name);
    assert(it != indices.end() && "verified");
    return it - indices.begin();
  }
};

} // namespace

static Tensor evaluate(EinsumOp, Evaluation &e) {
  return reference::einsum(e.operands, e.indices, e.shape, &e.error);
}

static Tensor evaluate(ReduceOp op, Evaluation &e) {
  return op.getKind() == "max"
             ? reference::reduceMax(e.operand(0), e.indices, &e.error)
             : reference::reduceSum(e.operand(0), e.indices, &e.error);
}

static Tensor evaluate(BroadcastOp, Evaluation &e) {
  return e.map([](const double *x) { return *x; });
}

static Tensor evaluate(ScaleOp op, Evaluation &e) {
  double factor = op.getFactor().convertToDouble();
  return e.map([=](const double *x) { return factor * *x; });
}

static Tensor evaluate(ShiftOp op, Evaluation &e) {
  double by = op.getBy().convertToDouble();
  return e.map([=](const double *x) { return *x + by; });
}

/// Applies the reference's scalar function called `name`.
static Tensor applyFunction(const std::string &name, Evaluation &e) {
  if (const auto *function = reference::findScalarFunction(name))
    return reference::pointwise(*function, e.operands, e.indices, e.shape,
                                &e.error);
  e.error = "the reference has no scalar function '" + name + "'";
  return {};
}

static Tensor evaluate(SlopeOp op, Evaluation &e) {
  return applyFunction("slope." + op.getOf().str(), e);
}

static Tensor evaluate(CausalMaskOp op, Evaluation &e) {
  size_t query = e.dimOf(op.getQuery()), key = e.dimOf(op.getKey());
  double fill = op.getFill().convertToDouble();
  return reference::pointwiseAt(
      [=](const double *x, const int64_t *at) {
        return at[key] <= at[query] ? *x : fill;
      },
      e.operands, e.indices, e.shape, &e.error);
}

/// The columns of the rotation matrices are what rope makes of basis vectors:
/// R[p, out, in, m] is half `out` at m of the rotated vector with ones in half
/// `in`, as a rotation does not mix pairs.
static Tensor evaluate(RopeMatrixOp op, Evaluation &e) {
  std::string position = op.getPosition().str(), in = op.getIn().str();
  std::string out = op.getOut().str(), pair = op.getFeature().str();
  int64_t positions = e.shape[e.dimOf(position)], pairs = op.getPairs();
  Tensor basis = reference::pointwiseAt(
      [=](const double *, const int64_t *at) {
        return at[2] / pairs == at[1] ? 1.0 : 0.0;
      },
      {}, {position, in, pair}, {positions, 2, 2 * pairs}, &e.error);
  Tensor rotated =
      reference::rope(basis, position, pair, op.getTheta().convertToDouble(),
                      op.getInverse(), &e.error);
  rotated = reference::reshape(std::move(rotated), {position, in, out, pair},
                               {positions, 2, 2, pairs}, &e.error);
  return reference::permute(rotated, e.indices, &e.error);
}

static Tensor evaluate(SoftmaxOp op, Evaluation &e) {
  std::optional<std::string> query;
  if (op.getCausal())
    query = op.getCausal()->str();
  return reference::softmax(e.operand(0), op.getOver().str(),
                            op.getScale().convertToDouble(), query, &e.error);
}

static Tensor evaluate(RmsNormOp op, Evaluation &e) {
  const Tensor &gain = e.operand(1);
  return reference::rmsNorm(e.operand(0), &gain, gain.indices,
                            op.getEps().convertToDouble(), &e.error);
}

static Tensor evaluate(LayerNormOp op, Evaluation &e) {
  const Tensor &gain = e.operand(1);
  return reference::layerNorm(e.operand(0), &gain, &e.operand(2), gain.indices,
                              op.getEps().convertToDouble(), &e.error);
}

static Tensor evaluate(RopeOp op, Evaluation &e) {
  return reference::rope(e.operand(0), op.getPosition().str(),
                         op.getFeature().str(), op.getTheta().convertToDouble(),
                         op.getInverse(), &e.error);
}

static Tensor evaluate(AttentionOp op, Evaluation &e) {
  reference::Dropout dropout;
  if (op.getDropout())
    dropout = {op.getDropout()->convertToDouble(), int64_t(op.getSeed())};
  return reference::attention(
      e.operand(0), e.operand(1), e.operand(2), op.getQuery().str(),
      op.getKey().str(), op.getFeature().str(), op.getScale().convertToDouble(),
      op.getCausal(), e.indices, &e.error, dropout);
}

static Tensor evaluate(OneHotEinsumOp op, Evaluation &e) {
  IndexNames selected;
  for (StringRef name : op.selected())
    selected.push_back(name.str());
  reference::Operands ids(e.operands.begin(), e.operands.end() - 1);
  return reference::oneHotEinsum(ids, selected, *e.operands.back(), e.indices,
                                 e.shape, &e.error);
}

static Tensor evaluate(RouterOp op, Evaluation &e) {
  return reference::largest(e.operand(0), op.getExpert().str(),
                            op.getChoice().str(), e.indices, e.shape, &e.error);
}

static Tensor evaluate(CountEarlierOp op, Evaluation &e) {
  IndexNames over;
  for (StringRef name : op.getWholeIndices())
    over.push_back(name.str());
  return reference::countEarlier(e.operand(0), over, op.getValues(), &e.error);
}

//===----------------------------------------------------------------------===//
// What the compiler takes apart first: by the definitions in TpspOps.td, for
// programs as they are written
//===----------------------------------------------------------------------===//

static Tensor evaluate(EmbeddingOp op, Evaluation &e) {
  return reference::oneHotEinsum({e.operands[0]}, {op.getVocabulary().str()},
                                 e.operand(1), e.indices, e.shape, &e.error);
}

static Tensor evaluate(MeanOp, Evaluation &e) {
  Tensor sum = reference::reduceSum(e.operand(0), e.indices, &e.error);
  double terms = static_cast<double>(e.operand(0).data.size()) /
                 static_cast<double>(reference::elementCount(e.shape));
  return reference::pointwise([=](const double *x) { return *x / terms; },
                              {&sum}, e.indices, e.shape, &e.error);
}

/// -log of the target's probability.
static Tensor evaluate(CrossEntropyOp op, Evaluation &e) {
  Tensor weights = reference::softmax(e.operand(0), op.getOver().str(),
                                      /*scale=*/1, std::nullopt, &e.error);
  Tensor target =
      reference::oneHotEinsum({e.operands[1]}, {op.getOver().str()}, weights,
                              e.indices, e.shape, &e.error);
  return reference::pointwise([](const double *p) { return -std::log(*p); },
                              {&target}, e.indices, e.shape, &e.error);
}

/// How many choices of the same expert come before each: those of the group
/// (the indices that ids and `slots` share), first choices of all tokens first.
template <typename Op>
static Tensor slotsOf(Op op, const Tensor &slots, int64_t experts,
                      Evaluation &e) {
  const Tensor &ids = e.operand(0);
  IndexNames over = {op.getChoice().str()};
  for (const std::string &name : ids.indices)
    if (name != over.front() && !slots.extent(name))
      over.push_back(name);
  return reference::countEarlier(ids, over, experts, &e.error);
}

static Tensor evaluate(DispatchOp op, Evaluation &e) {
  std::string expert = op.getExpert().str(), slot = op.getSlot().str();
  Tensor result = reference::full(e.indices, e.shape, 0, &e.error);
  Tensor slots = slotsOf(op, result, *result.extent(expert), e);
  return reference::oneHotEinsum({e.operands[0], &slots}, {expert, slot},
                                 e.operand(1), e.indices, e.shape, &e.error);
}

/// Every choice's part of the expert's results, weighted and added up.
static Tensor evaluate(CombineOp op, Evaluation &e) {
  std::string expert = op.getExpert().str(), slot = op.getSlot().str();
  const Tensor &ids = e.operand(0), &v = e.operand(2);
  Tensor slots = slotsOf(op, v, *v.extent(expert), e);
  IndexNames indices = ids.indices;
  Shape shape = ids.shape;
  for (size_t dim = 0; dim < v.indices.size(); ++dim)
    if (v.indices[dim] != expert && v.indices[dim] != slot &&
        !ids.extent(v.indices[dim])) {
      indices.push_back(v.indices[dim]);
      shape.push_back(v.shape[dim]);
    }
  Tensor each = reference::oneHotEinsum({&ids, &slots}, {expert, slot}, v,
                                        indices, shape, &e.error);
  return reference::einsum({e.operands[1], &each}, e.indices, e.shape,
                           &e.error);
}

//===----------------------------------------------------------------------===//
// Chance, views
//===----------------------------------------------------------------------===//

template <typename Op> static Tensor maskOf(Op op, Evaluation &e) {
  if (op.getPart()) {
    e.error = "is a part of a larger tensor; evaluate the program before "
              "tpsp-micro-batch";
    return {};
  }
  return reference::dropoutMask(e.indices, e.shape,
                                op.getRate().convertToDouble(), op.getSeed(),
                                &e.error);
}

static Tensor masked(const Tensor &mask, double scale, Evaluation &e) {
  return reference::pointwise(
      [=](const double *v) { return v[1] != 0 ? scale * v[0] : 0.0; },
      {e.operands[0], &mask}, e.indices, e.shape, &e.error);
}

static Tensor evaluate(DropoutOp op, Evaluation &e) {
  return masked(maskOf(op, e), 1 / (1 - op.getRate().convertToDouble()), e);
}

static Tensor evaluate(DropoutMaskOp op, Evaluation &e) {
  return maskOf(op, e);
}

static Tensor evaluate(ApplyMaskOp op, Evaluation &e) {
  return masked(e.operand(1), op.getScale().convertToDouble(), e);
}

static Tensor evaluate(TakeOp op, Evaluation &e) {
  return reference::take(e.operand(0), op.getIndex().str(), op.getAt(),
                         &e.error);
}

static Tensor evaluate(StackOp op, Evaluation &e) {
  return reference::stack(e.operands, op.getIndex().str(), e.indices, &e.error);
}

/// Views and changes of placement: the same elements in the same order.
static Tensor evaluateView(Evaluation &e) {
  return reference::reshape(e.takeFirst(), e.indices, e.shape, &e.error);
}
static Tensor evaluate(RenameOp, Evaluation &e) { return evaluateView(e); }
static Tensor evaluate(SplitOp, Evaluation &e) { return evaluateView(e); }
static Tensor evaluate(MergeOp, Evaluation &e) { return evaluateView(e); }
static Tensor evaluate(ReshardOp, Evaluation &e) { return evaluateView(e); }
static Tensor evaluate(StopGradientOp, Evaluation &e) {
  return evaluateView(e);
}

/// An operation whose name is that of the reference's scalar function.
static Tensor evaluateFunction(Operation *op, Evaluation &e) {
  return applyFunction(op->getName().stripDialect().str(), e);
}

using Evaluator = Tensor (*)(Operation *op, Evaluation &e);
using EvaluatorTable = llvm::StringMap<Evaluator>;

template <typename... Ops> static void addRows(EvaluatorTable &rows) {
  (rows.try_emplace(
       Ops::getOperationName(),
       [](Operation *op, Evaluation &e) { return evaluate(cast<Ops>(op), e); }),
   ...);
}
template <typename... Ops> static void addFunctionRows(EvaluatorTable &rows) {
  (rows.try_emplace(Ops::getOperationName(), evaluateFunction), ...);
}

static EvaluatorTable makeEvaluators() {
  EvaluatorTable rows;
  addRows<EinsumOp, ReduceOp, BroadcastOp, ScaleOp, ShiftOp, SlopeOp,
          CausalMaskOp, RopeMatrixOp, SoftmaxOp, RmsNormOp, LayerNormOp, RopeOp,
          AttentionOp, OneHotEinsumOp, RouterOp, CountEarlierOp, EmbeddingOp,
          MeanOp, CrossEntropyOp, DispatchOp, CombineOp, DropoutOp,
          DropoutMaskOp, ApplyMaskOp, TakeOp, StackOp, RenameOp, SplitOp,
          MergeOp, ReshardOp, StopGradientOp>(rows);
  addFunctionRows<AddOp, SubOp, MulOp, DivOp, NegOp, ExpOp, LogOp, TanhOp,
                  SqrtOp, RsqrtOp, SquareOp, SigmoidOp, ReluOp, SiluOp, GeluOp,
                  GeluErfOp>(rows);
  return rows;
}

static Evaluator findEvaluator(Operation *op) {
  static const EvaluatorTable rows = makeEvaluators();
  return rows.lookup(op->getName().getStringRef());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {

/// The values of a function under evaluation.
class Walker {
public:
  llvm::Error bind(func::FuncOp function, ArrayRef<const Tensor *> arguments);
  llvm::Error evaluate(Operation &op);
  /// The operands of the return operation.
  std::vector<Tensor> takeResults(Operation &ret);

private:
  struct Slot {
    const Tensor &get() const { return borrowed ? *borrowed : owned; }

    Tensor owned;
    /// Set for arguments, which are the caller's.
    const Tensor *borrowed = nullptr;
    /// Uses that have not been evaluated yet.
    size_t uses = 0;
  };

  static size_t countUses(Value value) {
    return std::distance(value.use_begin(), value.use_end());
  }
  Evaluation prepare(Operation &op);
  /// Counts one use of each operand, and frees what has none left.
  void releaseOperands(Operation &op);

  llvm::DenseMap<Value, Slot> slots;
};

} // namespace

llvm::Error Walker::bind(func::FuncOp function,
                         ArrayRef<const Tensor *> arguments) {
  if (arguments.size() != function.getNumArguments())
    return errorAt(function, "takes " + Twine(function.getNumArguments()) +
                                 " arguments, not " + Twine(arguments.size()));
  for (auto [value, tensor] :
       llvm::zip_equal(function.getArguments(), arguments)) {
    std::string role = "argument #" + std::to_string(value.getArgNumber());
    IdxAttr idx = getIdx(value);
    if (!idx)
      return errorAt(function, role + " is not a tensor with subscripts");
    if (idx.getLocal())
      return errorAt(function, role + " is one rank's part; the reference "
                                      "evaluates global shapes");
    if (!fits(*tensor, value.getType()))
      return errorAt(function, role +
                                   " does not have the names and shape of [" +
                                   subscripts(value.getType()) + "]");
    slots[value].borrowed = tensor;
    slots[value].uses = countUses(value);
  }
  return llvm::Error::success();
}

Evaluation Walker::prepare(Operation &op) {
  Evaluation evaluation;
  for (Value operand : op.getOperands())
    evaluation.operands.push_back(&slots.find(operand)->second.get());
  if (op.getNumOperands() > 0) {
    Slot &first = slots.find(op.getOperand(0))->second;
    if (!first.borrowed && first.uses == 1)
      evaluation.expendable = &first.owned;
  }
  evaluation.indices = referenceIndices(op.getResult(0).getType());
  evaluation.shape = referenceShape(op.getResult(0).getType());
  return evaluation;
}

void Walker::releaseOperands(Operation &op) {
  for (Value operand : op.getOperands()) {
    auto it = slots.find(operand);
    if (--it->second.uses == 0)
      slots.erase(it);
  }
}

llvm::Error Walker::evaluate(Operation &op) {
  Evaluator evaluator = findEvaluator(&op);
  if (!evaluator)
    return errorAt(&op, "has no evaluation in the reference");
  Value result = op.getResult(0);
  Evaluation evaluation = prepare(op);
  Tensor value = evaluator(&op, evaluation);
  if (!evaluation.error.empty())
    return errorAt(&op, evaluation.error);
  if (!fits(value, result.getType()))
    return errorAt(&op, "was not evaluated to the indices of its type, [" +
                            subscripts(result.getType()) + "]");
  releaseOperands(op);
  if (size_t uses = countUses(result))
    slots[result] = {std::move(value), /*borrowed=*/nullptr, uses};
  return llvm::Error::success();
}

std::vector<Tensor> Walker::takeResults(Operation &ret) {
  std::vector<Tensor> results;
  for (Value value : ret.getOperands()) {
    Slot &slot = slots.find(value)->second;
    if (--slot.uses == 0 && !slot.borrowed)
      results.push_back(std::move(slot.owned));
    else
      results.push_back(slot.get());
  }
  return results;
}

using Results = llvm::Expected<std::vector<Tensor>>;

Results tpsp::evaluateReference(func::FuncOp function,
                                ArrayRef<const Tensor *> arguments,
                                ReferenceProgress progress) {
  if (!function.getBody().hasOneBlock())
    return errorAt(function, "is not straight-line: the reference evaluates "
                             "functions of one block");
  Walker walker;
  if (llvm::Error error = walker.bind(function, arguments))
    return Results(std::move(error));
  Block &body = function.getBody().front();
  size_t done = 0, total = llvm::range_size(body.without_terminator());
  for (Operation &op : body.without_terminator()) {
    if (llvm::Error error = walker.evaluate(op))
      return Results(std::move(error));
    if (progress)
      progress(++done, total);
  }
  return walker.takeResults(*body.getTerminator());
}
