// tpsp-micro-batch: cut a step into parts of the batch.
//
// The micro-batches are seen as one more axis, of time instead of ranks, that
// drives the batch index wherever it appears. What a tensor is then follows
// from index structure, as for a mesh axis. It is cut if it carries the index,
// and a summand if the index was summed away. Else it is the same in every part
// and computed once. An operation that is not linear in a summand would need
// the whole sum, which exists only after the last part: the program is refused.
//
// Before: one forward and one backward pass. After: N of each, part by part,
// whose activations live one after another; a stacked or summed result each.
// Sums stay as they come out (tpsp.proposed) and are reduced once, by the last
// addition. Bytes sent for parameters' gradients stay. Or every part's are
// reduced, so that no rank keeps a gradient whole.
#include "MicroBatchLoop.h"
#include "MicroBatchSums.h"
#include "MicroBatchViews.h"

#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/StageMarks.h"
#include "tpsp/Abi/WrittenOut.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_MICROBATCH
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;
using namespace tpsp::microbatch;

namespace {

/// Gives what it sees the micro-batch and the phase that it is made for.
class MarkPhase : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    changeOrigin(op, [&](Origin &origin) {
      if (part)
        origin.part = part;
      if (backward)
        origin.phase = Phase::Backward;
    });
  }
  std::optional<int64_t> part;
  bool backward = false;
};

/// Rewrites a function part by part.
class Repeater : Sums {
public:
  Repeater(FunctionOpInterface function, const Division &division,
           const Shares &shares, const SumForm &form)
      : Sums(function.getFunctionBody().front(), shares, form),
        body(function.getFunctionBody().front()), division(division),
        shares(shares), b(function.getContext(), &mark), cutter(b, division) {}

  LogicalResult run() {
    for (Value sum : shares.counts())
      countBefore(sum);
    eraseCounted(shares);
    SmallVector<Operation *> ops = repeatedOps(body, shares);
    rest = withRest(ops);
    Operation *terminator = body.getTerminator();
    b.setInsertionPoint(terminator);
    for (int64_t part = 0; part < division.parts; ++part) {
      begin(part);
      for (Operation *op : ops) {
        if (failed(repeat(op)))
          return failure();
        // At once, so that only the sum lives on.
        for (Value result : op->getResults())
          if (llvm::is_contained(result.getUsers(), terminator))
            collect(result);
      }
    }
    mark.part = {};
    for (Operation *op : ops)
      if (rest.contains(op->getResult(0)))
        addRest(op);
    finish(terminator);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
    return success();
  }

private:
  bool isLast() const { return part + 1 == division.parts; }

  /// Replaces a sum by that of the whole batch.
  void countBefore(Value sum) {
    b.setInsertionPoint(sum.getDefiningOp());
    IRMapping map;
    for (Operation *op : shares.makersOf(sum))
      b.clone(*op, map);
    sum.replaceAllUsesWith(map.lookup(sum));
  }

  void begin(int64_t number) {
    part = number;
    mark.part = number;
    current.clear();
    slices.clear();
  }

  static bool isOfBackward(Value value) {
    Operation *op = value.getDefiningOp();
    return op && isBackward(op);
  }

  /// A clone of `op` on other operands, all that is left of a sum's.
  Operation *cloneOn(Operation *op, SmallVector<Value> operands) {
    auto type = typeOf(op->getResult(0));
    bool carried = llvm::all_of(indexNames(type), [&](StringRef name) {
      return llvm::any_of(operands, [&](Value operand) {
        return getIdx(operand).dimOf(name).has_value();
      });
    });
    if (!carried && operands.size() < op->getNumOperands())
      operands.front() =
          BroadcastOp::create(b, op->getLoc(), withoutPlacement(type),
                              ValueRange{operands.front()});
    Operation *clone = op->clone();
    clone->setOperands(operands);
    return clone;
  }

  /// This part's clone of an operation.
  LogicalResult repeat(Operation *op) {
    mark.backward = isBackward(op);
    bool onlySummands = addsSummands(op);
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!onlySummands || isSummand(operand))
        operands.push_back(inThisPart(op, i));
    Operation *clone = cloneOn(op, operands);
    // A lookup is of positions of an index that its result lacks.
    StringRef index = shares.cutIndex(op);
    for (auto [whole, own] :
         llvm::zip_equal(op->getResults(), clone->getResults())) {
      current[whole] = own;
      Share share = shares.of(whole);
      if (share.kind != Share::Cut) {
        if (!isReducedByPart(whole))
          propose(own);
        continue;
      }
      own.setType(cutter.partOf(typeOf(own), share.dim));
      index = indexNames(own.getType())[share.dim];
    }
    b.insert(clone);
    if (index.empty())
      return success();
    return cast<IndexedOpInterface>(clone).restrictPositions(
        index, division.blocks, division.parts, part);
  }

  Value inThisPart(Operation *op, unsigned i) {
    Value operand = op->getOperand(i);
    if (Value known = current.lookup(operand))
      return known;
    std::optional<unsigned> dim = shares.cutDim(op, i);
    if (!dim)
      return operand;
    Value &slice = slices[{operand, *dim}];
    if (!slice)
      slice = cutter.take(operand, *dim, part);
    return slice;
  }

  /// The operation on the rest of its operands, added to the parts' sum where
  /// it is a result.
  void addRest(Operation *op) {
    mark.backward = isBackward(op);
    bool adds = addsSummands(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Value value = rests.lookup(operand))
        operands.push_back(value);
      else if (!isSummand(operand))
        operands.push_back(operand);
      else if (!adds)
        operands.push_back(ScaleOp::create(
            b, op->getLoc(), withoutPlacement(typeOf(operand)),
            ValueRange{current.lookup(operand)}, b.getF64FloatAttr(0)));
    }
    Operation *clone = cloneOn(op, operands);
    b.insert(clone);
    Value result = op->getResult(0), value = clone->getResult(0);
    rests[result] = value;
    auto it = results.find(result);
    if (it != results.end())
      it->second = {
          add(result, {it->second.front(), value}, elementOf(result))};
  }

  Value add(Value result, ValueRange summands, Type element) {
    auto type = typeOf(result);
    auto sum =
        AddOp::create(b, result.getLoc(), withElement(type, element), summands);
    if (isGradient(result))
      sum->setAttr(weightAttrName, b.getUnitAttr());
    return sum;
  }

  static Type elementOf(Value value) { return typeOf(value).getElementType(); }

  /// Adds this part's contribution to a result.
  void collect(Value result) {
    Value value = current.lookup(result);
    SmallVector<Value> &parts = results[result];
    if (shares.of(result).kind == Share::Cut || parts.empty()) {
      parts.push_back(value);
      return;
    }
    mark.backward = isOfBackward(result);
    bool isTotal = isLast() && !rest.contains(result);
    Value sum = add(result, {parts.front(), value},
                    isTotal ? elementOf(result) : elementOfSum(result));
    if (!isTotal && !isReducedByPart(result))
      propose(sum);
    parts.front() = sum;
  }

  void finish(Operation *terminator) {
    for (OpOperand &use : terminator->getOpOperands()) {
      auto it = results.find(use.get());
      if (it == results.end())
        continue;
      Value result = use.get();
      Share share = shares.of(result);
      mark.part = {};
      mark.backward = isOfBackward(result);
      if (share.kind == Share::Cut && it->second.size() > 1)
        it->second = {cutter.stack(it->second, typeOf(result), share.dim)};
      use.set(it->second.front());
    }
  }

  Block &body;
  const Division &division;
  const Shares &shares;
  MarkPhase mark;
  OpBuilder b;
  Cutter cutter;
  int64_t part = 0;
  /// This part's values of those of the function.
  llvm::DenseMap<Value, Value> current;
  /// This part's slices of values that are not computed part by part.
  llvm::DenseMap<std::pair<Value, unsigned>, Value> slices;
  /// Sums with a rest, and its value.
  llvm::DenseSet<Value> rest;
  llvm::DenseMap<Value, Value> rests;
  /// Per result of the function its parts, or their sum so far.
  llvm::DenseMap<Value, SmallVector<Value>> results;
};

/// The nearest divisors of `extent` around `count`, for a message.
std::string nearestCounts(int64_t extent, int64_t count) {
  count = std::max<int64_t>(std::min(count, extent), 1);
  int64_t below = count;
  while (extent % below != 0)
    --below;
  std::string text = std::to_string(below);
  for (int64_t above = count + 1; above <= extent; ++above)
    if (extent % above == 0)
      return text + " or " + std::to_string(above);
  return text;
}

/// Finds how the index is divided; its axes stay null if nothing carries it.
LogicalResult divide(FunctionOpInterface function, Division &division) {
  std::optional<unsigned> first;
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    IdxAttr idx = getIdx(argument);
    std::optional<unsigned> dim =
        idx ? idx.dimOf(division.index) : std::nullopt;
    if (!dim)
      continue;
    if (idx.getLocal())
      return emitErrorAt(function)
             << "argument #" << i << " is one rank's part already ('local'); "
             << "micro-batches are cut of whole tensors: run tpsp-micro-batch "
                "before tpsp-partition";
    if (!first) {
      first = i;
      division.axes = idx.getAxes()[*dim];
      Mesh mesh = meshOf(function);
      Placement placement = placementOf(argument.getType(), mesh);
      division.blocks *= mesh.groupSize(placement.dims[*dim]);
    }
    if (idx.getAxes()[*dim] != division.axes)
      return emitErrorAt(function)
             << "argument #" << i << " is [" << subscripts(argument.getType())
             << "] but argument #" << *first << " ["
             << subscripts(function.getArgument(*first).getType())
             << "]; micro-batches are parts of every rank's own '"
             << division.index
             << "', so all arguments need the same subscripts on it";
    int64_t extent = typeOf(argument).getDimSize(*dim);
    int64_t own = extent / division.blocks;
    if (division.parts > own || own % division.parts != 0)
      return emitErrorAt(function)
             << "argument #" << i << " has index '" << division.index
             << "' of extent " << extent << ", which " << division.blocks
             << " shards of " << division.parts
             << " micro-batches do not divide; "
             << nearestCounts(own, division.parts) << " micro-batches would";
  }
  return success();
}

struct MicroBatch
    : public WithOptions<
          tpsp::impl::MicroBatchBase<MicroBatch>, &CompileOptions::microBatches,
          &CompileOptions::microBatchIndex, &CompileOptions::reduceGradients,
          &CompileOptions::sumDtype, &CompileOptions::overlap> {
  void runOnOperation() override {
    if (options().microBatches == 1) {
      for (auto function : getOperation().getOps<func::FuncOp>())
        if (!function.isExternal() && hasChunks(function))
          markWhole(function);
      return;
    }
    bool found = false;
    auto visit = [&](FunctionOpInterface function) {
      return cut(function, found);
    };
    if (failed(forEachFunction(getOperation(), visit)))
      return signalPassFailure();
    if (found)
      return;
    emitOptionError(getOperation(), getArgument(), "micro-batch-index")
        << "no argument has an index '" << options().microBatchIndex
        << "' to cut into micro-batches; name the batch with "
           "--micro-batch-index";
    signalPassFailure();
  }

private:
  /// Marks everything as the one micro-batch of a step with stages. A sum over
  /// what several chunks make follows it.
  static void markWhole(func::FuncOp function) {
    for (Operation &op : function.getBody().front().without_terminator()) {
      auto indexed = dyn_cast<IndexedOpInterface>(op);
      bool isOverChunks = !originOf(&op).chunk && indexed &&
                          indexed.isSumOfOperands() && op.getNumOperands() > 1;
      if (!isOverChunks)
        changeOrigin(&op, [](Origin &origin) { origin.part = 0; });
    }
    function->setAttr(microBatchesAttrName,
                      Builder(function.getContext()).getI64IntegerAttr(1));
  }

  LogicalResult cut(FunctionOpInterface function, bool &found) {
    const CompileOptions &given = options();
    Division division{given.microBatchIndex, 1, given.microBatches, {}};
    if (failed(divide(function, division)))
      return failure();
    if (!division.axes)
      return success();
    found = true;
    Shares shares(function, division);
    if (failed(shares.find()))
      return failure();
    SumForm form{given.reduceGradients == "part",
                 floatTypeNamed(&getContext(), given.sumDtype)};
    auto program = dyn_cast<func::FuncOp>(*function);
    bool writesOut = given.overlap != "off" && !hasChunks(function) &&
                     division.parts <= mostWrittenOut;
    if (!writesOut && program && canLoop(program, division, shares))
      return loop(program, division, shares, form);
    if (Value count = shares.nestedCount(); count && hasChunks(function))
      return emitErrorAt(count.getDefiningOp())
             << "sums inputs over '" << division.index
             << "' with the help of another such sum, which stages do not "
                "have before their micro-batches; give the sum as an input, "
                "or run it with one stage (--mesh)";
    if (hasChunks(function))
      return emitErrorAt(function)
             << "returns or changes a part of the batch in a way that only "
                "micro-batches which are written out can, and stages have none "
                "of these; return less, or run it with one stage (--mesh)";
    return Repeater(function, division, shares, form).run();
  }
};

} // namespace
