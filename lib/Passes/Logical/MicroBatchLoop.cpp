// The operations of one micro-batch are moved to the end of the function, where
// they read and make parts. Operations that are the same in every micro-batch
// stay before them. Those that need complete sums follow. A sum of inputs alone
// is counted before them, part by part.
#include "MicroBatchLoop.h"

#include "MicroBatchViews.h"

#include "Passes/Program/FunctionResults.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::microbatch;

namespace {

/// The value whose bytes a value is.
Value withoutViews(Value value) {
  auto op = value.getDefiningOp<IndexedOpInterface>();
  return op && op.isView() ? withoutViews(op->getOperand(0)) : value;
}

class Looper : Sums {
public:
  Looper(func::FuncOp function, const Division &division, const Shares &shares,
         const SumForm &form)
      : Sums(function.getBody().front(), shares, form), function(function),
        body(function.getBody().front()), division(division), shares(shares),
        b(body.getTerminator()), cutter(b, division) {}

  LogicalResult run() {
    for (Value sum : shares.counts())
      if (failed(countBefore(sum)))
        return failure();
    SmallVector<Operation *> ops = repeatedOps(body, shares);
    rest = withRest(ops);
    cutArguments();
    for (Operation *op : ops)
      if (failed(repeat(op)))
        return failure();
    for (Operation *op : ops)
      if (rest.contains(op->getResult(0)))
        addRest(op);
    finish();
    eraseCounted(shares);
    function->setAttr(microBatchesAttrName,
                      b.getI64IntegerAttr(division.parts));
    updateType(function);
    return success();
  }

private:
  void cutArguments() {
    for (BlockArgument argument : function.getArguments()) {
      Share share = shares.of(argument);
      if (share.kind != Share::Cut)
        continue;
      argument.setType(cutter.partOf(typeOf(argument), share.dim));
      function.setArgAttr(argument.getArgNumber(), cutAttrName,
                          b.getI64IntegerAttr(share.dim));
    }
  }

  /// Replaces a sum by one that is complete before the first micro-batch.
  LogicalResult countBefore(Value sum) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(sum.getDefiningOp());
    IRMapping map;
    for (Operation *source : shares.makersOf(sum)) {
      Operation *op = b.clone(*source, map);
      changeOrigin(op, [](Origin &origin) { origin.chunk.reset(); });
      if (failed(makePart(source, op, countPart)))
        return failure();
    }
    RankedTensorType type = typeOf(sum);
    bool isNarrow = type.getElementTypeBitWidth() < 32;
    auto all = AccumulateOp::create(
        b, sum.getLoc(), isNarrow ? withElement(type, b.getF32Type()) : type,
        map.lookup(sum));
    setOrigin(all, {.part = countPart});
    propose(all.getResult());
    sum.replaceAllUsesWith(placed(all.getResult(), type)->getResult(0));
    return success();
  }

  /// Makes the operation that of one part.
  LogicalResult repeat(Operation *op) {
    op->moveBefore(body.getTerminator());
    if (rest.contains(op->getResult(0)) && addsSummands(op))
      keepSummands(op);
    return makePart(op, op, 0);
  }

  /// Makes `op`, which is `source` or its clone, that of one part.
  LogicalResult makePart(Operation *source, Operation *op, int64_t number) {
    changeOrigin(op, [&](Origin &origin) { origin.part = number; });
    // A lookup is of positions of an index that its result lacks.
    StringRef index = shares.cutIndex(source);
    for (auto [whole, result] :
         llvm::zip_equal(source->getResults(), op->getResults())) {
      Share share = shares.of(whole);
      if (share.kind == Share::Cut) {
        result.setType(cutter.partOf(typeOf(result), share.dim));
        index = indexNames(result.getType())[share.dim];
      } else if (!isReducedByPart(whole)) {
        propose(result);
      }
    }
    if (index.empty())
      return success();
    return cast<IndexedOpInterface>(op).restrictPositions(
        index, division.blocks, division.parts, everyMicroBatch);
  }

  /// Drops the operands that are the same in every part; addRest() adds them.
  void keepSummands(Operation *op) {
    wholes[op] = llvm::to_vector(op->getOperands());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (isSummand(operand))
        operands.push_back(operand);
    Value first = operands.front();
    bool isCarried = llvm::all_of(
        indexNames(op->getResult(0).getType()), [&](StringRef name) {
          return llvm::any_of(operands, [&](Value operand) {
            return getIdx(operand).dimOf(name).has_value();
          });
        });
    if (!isCarried) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(op);
      operands.front() = broadcast(op, first);
      mark(operands.front().getDefiningOp(), op, /*isRepeated=*/true);
    }
    op->setOperands(operands);
  }

  Value broadcast(Operation *op, Value value) {
    return BroadcastOp::create(b, op->getLoc(),
                               withoutPlacement(typeOf(op->getResult(0))),
                               ValueRange{value});
  }

  /// Gives a new operation the phase of `source`.
  void mark(Operation *made, Operation *source, bool isRepeated) {
    Origin origin = originOf(source);
    if (isRepeated)
      setOrigin(made,
                {.phase = origin.phase, .part = 0, .chunk = origin.chunk});
    else
      setOrigin(made, {.phase = origin.phase});
  }

  /// The operation on the rest of its operands, which follows the parts.
  void addRest(Operation *op) {
    bool adds = addsSummands(op);
    auto known = wholes.find(op);
    SmallVector<Value> all = known != wholes.end()
                                 ? known->second
                                 : llvm::to_vector(op->getOperands());
    SmallVector<Value> operands;
    for (Value operand : all) {
      if (Value value = rests.lookup(operand))
        operands.push_back(value);
      else if (!isSummand(operand))
        operands.push_back(operand);
      else if (!adds)
        operands.push_back(zerosLike(op, operand));
    }
    Value result = op->getResult(0);
    if (adds && operands.size() == 1 &&
        typeOf(operands.front()).getRank() != typeOf(result).getRank())
      operands.front() = broadcast(op, operands.front());
    Operation *clone = op->clone();
    clone->removeAttr(proposedAttrName);
    changeOrigin(clone, [](Origin &origin) {
      origin.part.reset();
      origin.chunk.reset();
    });
    clone->setOperands(operands);
    b.insert(clone);
    rests[result] = clone->getResult(0);
  }

  Value zerosLike(Operation *op, Value operand) {
    Value zeros =
        ScaleOp::create(b, op->getLoc(), withoutPlacement(typeOf(operand)),
                        ValueRange{sumOf(operand)}, b.getF64FloatAttr(0));
    mark(zeros.getDefiningOp(), op, /*isRepeated=*/false);
    return zeros;
  }

  Type elementOf(Value value) { return typeOf(value).getElementType(); }

  /// Whether stages add up what each of them has: the gradient of a parameter
  /// that layers of several stages use.
  static bool isSumOverChunks(Operation *op) {
    auto hasChunk = [](Value operand) {
      Operation *maker = operand.getDefiningOp();
      return maker && originOf(maker).chunk;
    };
    return cast<IndexedOpInterface>(op).isSumOfOperands() &&
           !originOf(op).chunk && llvm::all_of(op->getOperands(), hasChunk);
  }

  /// The sum of a summand over all parts, not yet reduced.
  Value sumOf(Value result) {
    if (Value known = sums.lookup(result))
      return known;
    bool overChunks = isSumOverChunks(result.getDefiningOp());
    return sums[result] =
               overChunks ? sumOverChunks(result) : sumOverParts(result);
  }

  /// Every stage adds up its own summands first. They meet once a step.
  Value sumOverChunks(Value result) {
    Operation *op = result.getDefiningOp();
    SmallVector<Value> summands;
    for (Value operand : op->getOperands())
      summands.push_back(sumOf(operand));
    auto made = AddOp::create(b, result.getLoc(),
                              withElement(typeOf(result), elementOfSum(result)),
                              summands);
    mark(made, op, /*isRepeated=*/false);
    if (!isReducedByPart(result))
      propose(made.getResult());
    if (isGradient(result))
      made->setAttr(weightAttrName, b.getUnitAttr());
    return made.getResult();
  }

  Value sumOverParts(Value result) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfter(result.getDefiningOp());
    auto made = AccumulateOp::create(
        b, result.getLoc(), withElement(typeOf(result), elementOfSum(result)),
        ValueRange{result});
    mark(made, result.getDefiningOp(), /*isRepeated=*/true);
    // Its summands are placed if each is reduced. It stays as they are: what is
    // left is done once.
    Value sum = made.getResult();
    propose(sum);
    if (isGradient(result))
      made->setAttr(weightAttrName, b.getUnitAttr());
    return sum;
  }

  /// A sum as it is wanted.
  Operation *placed(Value sum, RankedTensorType type) {
    // An addition's summands on other ranks are added in its own precision.
    if (elementOf(sum) != type.getElementType() || isUnplaced(type))
      return AddOp::create(b, sum.getLoc(), type, ValueRange{sum});
    return ReshardOp::create(b, sum.getLoc(), type, ValueRange{sum});
  }

  /// The function's result for a summand: its sum, placed, and with its rest.
  Value totalOf(Value result) {
    Value sum = sumOf(result), rest = rests.lookup(result);
    RankedTensorType type = typeOf(result);
    if (!rest && sum.getType() == type && !getResultAttr(sum, proposedAttrName))
      return sum;
    Operation *total =
        rest ? AddOp::create(b, result.getLoc(), type, ValueRange{sum, rest})
             : placed(sum, type);
    mark(total, result.getDefiningOp(), /*isRepeated=*/false);
    if (isGradient(result))
      total->setAttr(weightAttrName, b.getUnitAttr());
    return total->getResult(0);
  }

  void finish() {
    llvm::DenseMap<Value, Value> totals;
    for (OpOperand &use : body.getTerminator()->getOpOperands()) {
      Value result = use.get();
      Share share = shares.of(result);
      if (share.kind == Share::Cut)
        function.setResultAttr(use.getOperandNumber(), cutAttrName,
                               b.getI64IntegerAttr(share.dim));
      if (share.kind != Share::Summand)
        continue;
      Value &total = totals[result];
      if (!total)
        total = totalOf(result);
      use.set(total);
    }
    for (auto [result, total] : totals)
      if (Operation *op = result.getDefiningOp();
          isSumOverChunks(op) && op->use_empty())
        op->erase();
  }

  func::FuncOp function;
  Block &body;
  const Division &division;
  const Shares &shares;
  OpBuilder b;
  Cutter cutter;
  /// Sums with a rest, that rest, and the operands that they had.
  llvm::DenseSet<Value> rest;
  llvm::DenseMap<Value, Value> rests;
  llvm::DenseMap<Operation *, SmallVector<Value>> wholes;
  /// Summands, and their sums over all parts.
  llvm::DenseMap<Value, Value> sums;
};

} // namespace

/// Whether a rank's block of a result is made of the same positions as that of
/// an argument. On more axes, a part's shards are not parts of the shards.
static bool isDividedAlike(Value result, unsigned dim,
                           const Division &division) {
  return !isUnplaced(result.getType()) &&
         getIdx(result).getAxes()[dim] == division.axes;
}

/// Whether every cut result has memory of its own, which its operation writes.
static bool ownCutResults(func::FuncOp function, const Division &division,
                          const Shares &shares) {
  llvm::DenseSet<Value> roots;
  for (Value result : function.getBody().front().getTerminator()->getOperands())
    if (Share share = shares.of(result); share.kind == Share::Cut) {
      if (!isDividedAlike(result, share.dim, division))
        return false;
      Value root = withoutViews(result);
      if (isa<BlockArgument>(root) || !roots.insert(root).second)
        return false;
    }
  return true;
}

bool tpsp::microbatch::canLoop(func::FuncOp function, const Division &division,
                               const Shares &shares) {
  for (BlockArgument argument : function.getArguments())
    if (shares.of(argument).kind == Share::Cut && isParameter(argument))
      return false;
  if (!ownCutResults(function, division, shares) || shares.nestedCount())
    return false;
  return llvm::none_of(
      repeatedOps(function.getBody().front(), shares), [&](Operation *op) {
        return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
          return shares.of(operand.get()).kind == Share::Same &&
                 shares.cutDim(op, operand.getOperandNumber());
        });
      });
}

LogicalResult tpsp::microbatch::loop(func::FuncOp function,
                                     const Division &division,
                                     const Shares &shares,
                                     const SumForm &form) {
  return Looper(function, division, shares, form).run();
}
