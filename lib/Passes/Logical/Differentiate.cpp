// tpsp-differentiate: adds the backward pass of a function.
#include "Passes/Program/AdjointMark.h"
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/OriginListener.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/Integers/Routing.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace tpsp {
#define GEN_PASS_DEF_DIFFERENTIATE
#define GEN_PASS_DEF_DROPPRIMALS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// Marks new operations as part of the backward pass. An adjoint gets its
/// operation's source location but not its name: v's slope is not v.
class MarkBackward : public OriginListener {
public:
  MarkBackward() { origin.phase = Phase::Backward; }

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint point) override {
    OriginListener::notifyOperationInserted(op, point);
    numbers[op] = behind ? numbers.lookup(behind) : ++made;
  }
  /// Returns the later of two operations. The pass inserts at the function's
  /// end, with increasing numbers, or after an operation, with that operation's
  /// number. Asking the block would renumber all of it after every insertion,
  /// so it is asked for equal numbers only.
  Operation *later(Operation *a, Operation *b) const {
    size_t first = numbers.lookup(a), second = numbers.lookup(b);
    bool isInOrder = first == second ? a->isBeforeInBlock(b) : first < second;
    return isInOrder ? b : a;
  }
  /// The operation whose adjoint is being built; null between adjoints.
  Operation *primal = nullptr;
  /// The operation after which the pass inserts; null at the function's end.
  Operation *behind = nullptr;

private:
  Location locationFor(Operation *op) override {
    return primal ? adjointLocation(primal) : OriginListener::locationFor(op);
  }

  /// Numbers from 1; operations from before the pass have none.
  llvm::DenseMap<Operation *, size_t> numbers;
  size_t made = 0;
};

bool isDifferentiable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && getIdx(type) && isa<FloatType>(tensor.getElementType());
}

/// The type of a tensor's gradient: placed like the tensor, or as a parameter's
/// argument says (tpsp.gradient_at). The gradient of a partial tensor is not
/// partial: every summand has the gradient of the sum.
RankedTensorType gradientType(Value value) {
  Type type = value.getType();
  IdxAttr idx = getIdx(type);
  auto argument = dyn_cast<BlockArgument>(value);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : FunctionOpInterface();
  if (function)
    if (auto at = function.getArgAttrOfType<IdxAttr>(argument.getArgNumber(),
                                                     gradientAtAttrName))
      idx = at;
  auto tensor = cast<RankedTensorType>(type);
  auto whole = IdxAttr::get(type.getContext(), idx.getNames(), idx.getAxes(),
                            /*pending=*/{}, /*pendingMax=*/false,
                            idx.getUnplaced(), idx.getLocal());
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               whole);
}

/// Whether `op` scales one tensor or converts it.
bool isMultiple(IndexedOpInterface op) {
  return op->getNumOperands() == 1 && isa<LoopOpInterface>(op.getOperation()) &&
         op.getLinearity() == Linearity::Joint &&
         getIdx(op->getOperand(0)).getNames() ==
             getIdx(op->getResult(0)).getNames();
}

/// The parameter that `value` is, reshaped, converted or scaled. The gradients
/// of both are summed in the same type. Null if there is none.
BlockArgument parameterBehind(Value value) {
  while (auto op = value.getDefiningOp<IndexedOpInterface>()) {
    if (!op.isView() && !isMultiple(op))
      return {};
    value = op->getOperand(0);
  }
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isParameter(argument) ? argument : BlockArgument();
}

std::optional<int64_t> chunkOf(Operation *op) { return originOf(op).chunk; }

/// The chunk that makes all of `parts`; nullopt if several do, or none.
std::optional<int64_t> commonChunk(ArrayRef<Value> parts) {
  std::optional<int64_t> common;
  for (Value part : parts) {
    Operation *op = part.getDefiningOp();
    std::optional<int64_t> chunk = op ? chunkOf(op) : std::nullopt;
    if (!chunk || (common && common != chunk))
      return {};
    common = chunk;
  }
  return common;
}

/// Inner results (innerAttrName) whose gradients are returned.
struct InnerGradients {
  void find(func::FuncOp function, ArrayRef<Value> results) {
    for (auto [number, result] : llvm::enumerate(results))
      if (auto wanted =
              function.getResultAttrOfType<BoolAttr>(number, innerAttrName);
          wanted && wanted.getValue())
        numbers[result] = number;
  }
  /// Keeps the gradient of a value if it is one of these results.
  void note(Value value, Value gradient) {
    if (auto found = numbers.find(value); found != numbers.end())
      gradients.push_back({found->second, gradient});
  }

  /// The numbers of the results.
  llvm::DenseMap<Value, unsigned> numbers;
  SmallVector<std::pair<unsigned, Value>> gradients;
};

class Backward {
public:
  /// `reduceType`: the type of parameters' gradients; null if it is their own.
  Backward(func::FuncOp function, Type reduceType)
      : function(function), builder(function.getContext(), &mark),
        reduceType(reduceType) {}

  /// Extends `function`, a copy of the primal, by the backward pass.
  LogicalResult run() {
    Block &body = function.getBody().front();
    auto ret = cast<func::ReturnOp>(body.getTerminator());
    findActive(body);

    SmallVector<Type> resultTypes(ret.getOperandTypes());
    SmallVector<DictionaryAttr> argAttrs, resultAttrs;
    function.getAllArgAttrs(argAttrs);
    function.getAllResultAttrs(resultAttrs);
    SmallVector<BlockArgument> inputs(body.getArguments());

    for (auto [i, result] : llvm::enumerate(ret.getOperands()))
      addCotangent(body, result, i, argAttrs);
    SmallVector<Value> results(ret.getOperands());
    inner.find(function, results);

    builder.setInsertionPoint(ret);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (!isBackward(&op) && failed(visit(&op)))
        return failure();

    for (BlockArgument input : inputs) {
      if (!hasGradient(input))
        continue;
      mark.origin.chunk = commonChunk(contributions[input]);
      Value gradient = finish(input);
      if (!gradient)
        gradient = zero(input);
      results.push_back(gradient);
      resultAttrs.push_back(named("g[" + tensorName(input) + "]",
                                  gradientAttrName, input.getArgNumber()));
    }
    for (const auto &[number, gradient] : inner.gradients) {
      resultAttrs.push_back(named("g[" + tensorName(results[number]) + "]",
                                  innerGradientAttrName, number));
      results.push_back(gradient);
    }
    ret->setOperands(results);
    updateType(function);
    function.setAllArgAttrs(argAttrs);
    function.setAllResultAttrs(resultAttrs);
    return success();
  }

private:
  static bool stopsGradient(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed && indexed.stopsGradient();
  }

  /// {tpsp.name = name, relation = number}
  DictionaryAttr named(const Twine &name, StringRef relation, unsigned number) {
    return builder.getDictionaryAttr(
        {builder.getNamedAttr(nameAttrName, builder.getStringAttr(name)),
         builder.getNamedAttr(relation, builder.getI64IntegerAttr(number))});
  }

  bool hasGradient(BlockArgument input) {
    return isDifferentiable(input.getType()) &&
           !function.getArgAttr(input.getArgNumber(), frozenAttrName);
  }

  /// Finds values that depend on an argument with a gradient. The operations
  /// that compute them get the results that their adjoints will read.
  void findActive(Block &body) {
    for (BlockArgument argument : body.getArguments())
      if (hasGradient(argument))
        active.insert(argument);
    for (Operation &op : llvm::make_early_inc_range(body))
      if (!stopsGradient(&op) && llvm::any_of(op.getOperands(), [&](Value v) {
            return active.contains(v);
          }))
        for (Value result : withAdjointResults(&op)->getResults())
          if (isDifferentiable(result.getType()))
            active.insert(result);
  }

  static Operation *withAdjointResults(Operation *op) {
    OpBuilder forward(op);
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    return indexed ? indexed.withAdjointResults(forward) : op;
  }

  void addCotangent(Block &body, Value result, unsigned number,
                    SmallVectorImpl<DictionaryAttr> &argAttrs) {
    if (!isDifferentiable(result.getType()) ||
        function.getResultAttr(number, countAttrName) ||
        function.getResultAttr(number, innerAttrName))
      return;
    BlockArgument cotangent =
        body.addArgument(gradientType(result), result.getLoc());
    NamedAttrList attrs(named("g[" + resultName(function, number) + "]",
                              cotangentAttrName, number));
    // A scalar's cotangent is 1, so that results are its gradients and not a
    // multiple.
    if (getIdx(result).getRank() == 0) {
      attrs.set(meanAttrName, builder.getF64FloatAttr(1));
      attrs.set(deviationAttrName, builder.getF64FloatAttr(0));
    }
    argAttrs.push_back(attrs.getDictionary(builder.getContext()));
    contributions[result].push_back(cotangent);
  }

  LogicalResult visit(Operation *op) {
    if (op->getNumResults() == 0)
      return success();
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    Value result = op->getResult(0);
    if (!active.contains(result))
      return success();
    // Contributions of one chunk are added there: it sends their sum.
    mark.origin.chunk = commonChunk(contributions[result]);
    if (!mark.origin.chunk)
      mark.origin.chunk = chunkOf(op);
    if (!indexed)
      return op->emitOpError("is on the path from the differentiated arguments "
                             "and has no gradient");
    for (OpResult other : llvm::drop_begin(op->getResults()))
      if (!contributions.lookup(other).empty())
        return op->emitOpError("has no gradient through its result #")
               << other.getResultNumber()
               << "; keep it off the path from the differentiated arguments "
                  "(tpsp.stop_gradient)";
    Value gradient = finish(result);
    if (!gradient)
      return success(); // nothing depends on it
    inner.note(result, gradient);
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(active.contains(operand));
    SmallVector<Value> gradients(op->getNumOperands());
    mark.primal = op;
    mark.origin.chunk = chunkOf(op);
    LogicalResult isBuilt =
        indexed.buildAdjoint(builder, gradient, needed, gradients);
    mark.primal = nullptr;
    if (failed(isBuilt))
      return failure();
    for (auto [operand, gradient] :
         llvm::zip_equal(op->getOperands(), gradients))
      if (gradient)
        contributions[operand].push_back(gradient);
    return success();
  }

  /// The gradient of `value`, placed like it: the sum of its contributions.
  /// Null if there are none.
  Value finish(Value value) {
    SmallVector<Value> &parts = contributions[value];
    if (parts.empty())
      return {};
    RankedTensorType wanted = wantedType(value);
    if (reducedIn(value))
      convertSummands(value, parts, wanted.getElementType());
    describeSummands(value, parts, wanted);
    OpBuilder::InsertionGuard guard(builder);
    Operation *last = lastOf(parts);
    // Inserted early, so that later users, such as an optimizer's step, need
    // not wait for the remaining backward pass.
    bool standsBehind = isa<BlockArgument>(value) && last;
    if (standsBehind)
      builder.setInsertionPointAfter(last);
    llvm::SaveAndRestore place(mark.behind, standsBehind ? last : nullptr);
    if (parts.size() > 1)
      return called(value,
                    AddOp::create(builder, value.getLoc(), wanted, parts));
    Value only = parts.front();
    if (only.getType() == wanted)
      return only;
    // An unplaced value is computed in the wanted placement. An argument keeps
    // the placement that its caller gave it.
    if (isUnplaced(only.getType()) && only.getDefiningOp()) {
      only.setType(wanted);
      return called(value, only);
    }
    Location loc = last ? last->getLoc() : value.getLoc();
    return called(value, ReshardOp::create(builder, loc, wanted, only));
  }

  /// Converts each summand to `element` by a sum of one operand, which is
  /// reduced over ranks afterwards. If the type holds no more than theirs,
  /// summands are added first and rounded once.
  void convertSummands(Value value, SmallVectorImpl<Value> &parts,
                       Type element) {
    auto elementOf = [](Value part) { return typeOf(part).getElementType(); };
    for (Value &part : parts)
      if (auto convert = part.getDefiningOp<ConvertOp>();
          convert && elementOf(convert->getOperand(0)) == element)
        part = convert->getOperand(0);
    bool widens = llvm::any_of(parts, [&](Value part) {
      return elementOf(part).getIntOrFloatBitWidth() <
             element.getIntOrFloatBitWidth();
    });
    if (!widens && parts.size() > 1 && elementOf(parts.front()) != element)
      parts.assign(1, sumOf(value, parts, elementOf(parts.front())));
    for (Value &part : parts)
      if (elementOf(part) != element)
        part = sumOf(value, part, element);
  }

  /// The sum of `parts` in `element`, unplaced.
  Value sumOf(Value value, ValueRange parts, Type element) {
    OpBuilder::InsertionGuard guard(builder);
    Operation *last = lastOf(llvm::to_vector(parts));
    if (last)
      builder.setInsertionPointAfter(last);
    llvm::SaveAndRestore place(mark.behind, last);
    Value sum = AddOp::create(
        builder, last ? last->getLoc() : value.getLoc(),
        withoutPlacement(withElement(gradientType(value), element)), parts);
    setResultAttr(sum, weightAttrName, builder.getUnitAttr());
    return sum;
  }

  /// The last of the operations that compute `parts`; null if one is an
  /// argument.
  Operation *lastOf(ArrayRef<Value> parts) const {
    Operation *last = nullptr;
    for (Value part : parts) {
      Operation *op = part.getDefiningOp();
      if (!op)
        return nullptr;
      last = last ? mark.later(last, op) : op;
    }
    return last;
  }

  /// Notes on the summands of a gradient the placement that their sum is wanted
  /// in, and whether it is a parameter's. Their compute placements depend on
  /// it.
  void describeSummands(Value value, ArrayRef<Value> parts,
                        RankedTensorType wanted) {
    for (Value part : parts) {
      if (isa<BlockArgument>(part))
        continue;
      if (parts.size() > 1 && isUnplaced(part.getType())) {
        part.setType(withElement(wanted, typeOf(part).getElementType()));
        setResultAttr(part, proposedAttrName, builder.getUnitAttr());
      }
      if (isWeight(value))
        setResultAttr(part, weightAttrName, builder.getUnitAttr());
    }
  }

  /// Names `gradient` after its value. Its placement is only proposed if the
  /// value's own placement is.
  Value called(Value value, Value gradient) {
    if (isWeight(value))
      setResultAttr(gradient, weightAttrName, builder.getUnitAttr());
    if (getResultAttr(value, proposedAttrName))
      setResultAttr(gradient, proposedAttrName, builder.getUnitAttr());
    setName(gradient, builder.getStringAttr("g[" + tensorName(value) + "]"));
    return gradient;
  }

  /// The type in which ranks sum the gradient of `value`, if that is a
  /// parameter's; else null.
  Type reducedIn(Value value) {
    BlockArgument parameter = parameterBehind(value);
    if (!parameter)
      return {};
    return reduceType ? reduceType : typeOf(parameter).getElementType();
  }

  /// The type in which the gradient of `value` is passed on.
  RankedTensorType wantedType(Value value) {
    RankedTensorType wanted = gradientType(value);
    Type element = reducedIn(value);
    return element ? withElement(wanted, element) : wanted;
  }

  Value zero(BlockArgument input) {
    RankedTensorType wanted = wantedType(input);
    Value zero = ScaleOp::create(builder, input.getLoc(), gradientType(input),
                                 ValueRange{input}, builder.getF64FloatAttr(0));
    return zero.getType() == wanted ? zero
                                    : AddOp::create(builder, input.getLoc(),
                                                    wanted, ValueRange{zero});
  }

  func::FuncOp function;
  MarkBackward mark;
  OpBuilder builder;
  Type reduceType;
  llvm::DenseSet<Value> active;
  /// Summands of each value's gradient.
  llvm::DenseMap<Value, SmallVector<Value>> contributions;
  InnerGradients inner;
};

struct Differentiate
    : public WithOptions<tpsp::impl::DifferentiateBase<Differentiate>,
                         &CompileOptions::reduceDtype> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<func::FuncOp> selected;
    for (auto candidate : getOperation().getOps<func::FuncOp>())
      if (!candidate.isExternal() && !candidate->hasAttr(updateOfAttrName) &&
          (function.empty() || candidate.getSymName() == function))
        selected.push_back(candidate);
    if (selected.empty() && !function.empty()) {
      emitOptionError(getOperation(), getArgument(), "function")
          << "no function named '" << function << "' to differentiate";
      return signalPassFailure();
    }
    for (func::FuncOp primal : selected)
      if (failed(differentiate(primal)))
        return signalPassFailure();
  }

private:
  LogicalResult differentiate(func::FuncOp primal) {
    if (!primal.getBody().hasOneBlock())
      return emitErrorAt(primal) << "has control flow; tpsp differentiates "
                                    "straight-line functions";
    OpBuilder builder(primal);
    builder.setInsertionPointAfter(primal);
    auto copy = cast<func::FuncOp>(builder.clone(*primal));
    copy.setSymName((primal.getSymName() + "_grad").str());
    Type type = floatTypeNamed(&getContext(), options().reduceDtype);
    if (succeeded(Backward(copy, type).run()))
      return success();
    copy.erase();
    return failure();
  }
};

struct DropPrimals : public tpsp::impl::DropPrimalsBase<DropPrimals> {
  using Base::Base;
  void runOnOperation() override {
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      std::string derived = (function.getSymName() + "_grad").str();
      if (getOperation().lookupSymbol<func::FuncOp>(derived))
        function.erase();
    }
  }
};

} // namespace
