// tpsp-micro-batch: do a step part by part of the batch.
//
// The micro-batches are seen as one more axis, of time instead of ranks, that
// drives the batch index wherever it appears; what a tensor is then follows
// from index structure as it does for a mesh axis: cut, if it carries the
// index; a summand, if the index was summed away; else the same in every part
// and computed once. An operation that is not linear in a summand would need
// the whole sum, which exists only after the last part: the program is refused.
//
// Before: one forward and one backward pass. After: N of each, part by part,
// whose activations live one after another; a stacked or summed result each.
// Sums stay as they come out (tpsp.goal) and are reduced once, by the last
// addition. Bytes sent for parameters' gradients stay.
#include "tpsp/Passes/FunctionWalk.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Placed.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace tpsp {
#define GEN_PASS_DEF_MICROBATCH
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// What a value is in one part.
struct Share {
  enum Kind { Same, Cut, Summand };
  Kind kind = Same;
  /// The dimension that is cut.
  unsigned dim = 0;

  bool operator==(const Share &other) const {
    return kind == other.kind && (kind != Cut || dim == other.dim);
  }
};

/// How the cut index is divided: the index is (blocks, parts, rows), and part i
/// is the rows i of every block. With as many blocks as the index has shards, a
/// part of the tensor is a part of every rank's shard.
struct Division {
  StringRef index;
  int64_t blocks = 1;
  int64_t parts = 1;
  /// The mesh axes of the index, on every argument that carries it.
  ArrayAttr axes;
};

/// Finds the share of every value, or why there is none.
class Shares {
public:
  Shares(FunctionOpInterface function, const Division &division)
      : function(function), division(division) {}

  LogicalResult find() {
    for (BlockArgument argument : function.getArguments())
      if (IdxAttr idx = getIdx(argument))
        if (std::optional<unsigned> dim = idx.dimOf(division.index))
          shares[argument] = {Share::Cut, *dim};
    for (Operation &op : function.getFunctionBody().front())
      if (auto indexed = dyn_cast<IndexedOpInterface>(op))
        structures.try_emplace(&op, indexed.getIndexStructure());
    // Shares are found forwards; an operation that needs an operand cut may
    // change what comes before it. A share is found once, so this ends.
    do {
      changed = false;
      for (Operation &op :
           function.getFunctionBody().front().without_terminator())
        if (failed(visit(&op)))
          return failure();
    } while (changed);
    return success();
  }

  Share of(Value value) const { return shares.lookup(value); }

  /// The index of `op` that is cut; empty if its operands are whole.
  StringRef cutIndex(Operation *op) const {
    auto it = driven.find(op);
    if (it == driven.end())
      return "";
    return structures.find(op)->second.indices[it->second].name;
  }

  /// The dimension of operand `i` that its operation cuts, if any.
  std::optional<unsigned> cutDim(Operation *op, unsigned i) const {
    auto it = driven.find(op);
    if (it == driven.end())
      return std::nullopt;
    return structures.find(op)->second.operands[i].dimOf(it->second);
  }

private:
  LogicalResult visit(Operation *op) {
    if (!isa<IndexedOpInterface>(op))
      return checkForeign(op);
    const IndexStructure &structure = structures.find(op)->second;
    std::optional<IndexId> index;
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), structure.operands))
      if (of(operand).kind == Share::Cut &&
          failed(drive(op, tensor.indices[of(operand).dim], index)))
        return failure();
    Share result = of(op->getResult(0));
    if (result.kind == Share::Cut &&
        failed(drive(op, structure.results[0].indices[result.dim], index)))
      return failure();
    return index ? visitDriven(op, structure, *index) : visitSums(op);
  }

  /// An operation without an index structure computes the same in every part,
  /// or cannot be cut.
  LogicalResult checkForeign(Operation *op) {
    for (Value operand : op->getOperands())
      if (of(operand).kind != Share::Same)
        return op->emitOpError("has no index structure by which it could be "
                               "cut into micro-batches; write placements, and "
                               "tpsp.reshard where one changes");
    return success();
  }

  LogicalResult drive(Operation *op, IndexId id,
                      std::optional<IndexId> &index) {
    const auto &indices = structures.find(op)->second.indices;
    if (indices[id].whole)
      return op->emitOpError("needs index '")
             << indices[id].name << "' whole, which micro-batches cut; cut "
             << "another index (index=), or run without micro-batches";
    if (index && *index != id)
      return op->emitOpError("relates positions of the batch to each other ('")
             << indices[*index].name << "' and '" << indices[id].name
             << "'), and a micro-batch has only its own; run without "
                "micro-batches";
    index = id;
    return success();
  }

  LogicalResult visitDriven(Operation *op, const IndexStructure &structure,
                            IndexId index) {
    driven[op] = index;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (of(operand).kind == Share::Summand)
        return refuseSummand(op, i);
      std::optional<unsigned> dim = structure.operands[i].dimOf(index);
      if (!dim)
        continue;
      if (failed(checkEven(op, structure, index, structure.operands[i], *dim)))
        return failure();
      demand(operand, *dim);
    }
    std::optional<unsigned> dim = structure.results[0].dimOf(index);
    if (dim && failed(checkShards(op->getResult(0), *dim)))
      return failure();
    if (dim) {
      set(op->getResult(0), {Share::Cut, *dim});
      return checkEven(op, structure, index, structure.results[0], *dim);
    }
    if (structure.reduction != Reduction::Sum)
      return op->emitOpError("takes the maximum over '")
             << structure.indices[index].name
             << "', which micro-batches cut, and maxima of parts do not add up";
    set(op->getResult(0), {Share::Summand});
    return success();
  }

  /// A part must be made of whole positions of every index that stands for the
  /// batch.
  LogicalResult checkEven(Operation *op, const IndexStructure &structure,
                          IndexId index, const IndexStructure::Tensor &tensor,
                          unsigned dim) {
    int64_t pieces = division.blocks * division.parts;
    if (tensor.shape[dim] % pieces == 0)
      return success();
    return op->emitOpError("has index '")
           << structure.indices[index].name << "' of extent "
           << tensor.shape[dim] << ", which " << division.blocks
           << " shards of " << division.parts
           << " micro-batches do not divide; choose another number of "
              "micro-batches";
  }

  /// A value may be on more axes than the arguments are.
  LogicalResult checkShards(Value value, unsigned dim) {
    auto type = cast<RankedTensorType>(value.getType());
    Mesh mesh = meshOf(function);
    Placement placement = placementOf(type, mesh);
    int64_t ranks = mesh.groupSize(placement.dims[dim]);
    if (ranks == 1 || type.getDimSize(dim) % (ranks * division.parts) == 0)
      return success();
    return value.getDefiningOp()->emitOpError("has index '")
           << indexNames(type)[dim] << "' of extent " << type.getDimSize(dim)
           << " on " << mesh.names(placement.dims[dim]) << " (" << ranks
           << " ranks), which " << division.parts
           << " micro-batches do not divide; choose another number of "
              "micro-batches";
  }

  /// An operation none of whose operands is cut.
  LogicalResult visitSums(Operation *op) {
    auto indexed = cast<IndexedOpInterface>(op);
    unsigned summands = 0, first = 0;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      if (of(operand).kind != Share::Summand)
        continue;
      first = summands++ ? first : i;
    }
    if (summands == 0)
      return success();
    bool all = summands == op->getNumOperands();
    // A sum of summands and others has the others once, besides all parts.
    bool passes = indexed.isSumOfOperands() ||
                  (indexed.getLinearity() == Linearity::Joint && all) ||
                  (indexed.getLinearity() == Linearity::Multi && summands == 1);
    if (!passes)
      return refuseSummand(op, first);
    set(op->getResult(0), {Share::Summand});
    return success();
  }

  LogicalResult refuseSummand(Operation *op, unsigned operand) {
    InFlightDiagnostic diag = op->emitOpError("operand #");
    diag << operand << " is a sum over '" << division.index
         << "', which is complete only after the last micro-batch, and '"
         << op->getName() << "' is not linear in it; keep what follows the sum "
         << "linear (a mean is tpsp.reduce and tpsp.scale), or run without "
         << "micro-batches";
    diag.attachNote(op->getOperand(operand).getLoc()) << "the sum is made here";
    return diag;
  }

  /// Has `value` computed part by part where its operation can.
  void demand(Value value, unsigned dim) {
    Operation *op = value.getDefiningOp();
    if (of(value).kind != Share::Same || !op || !structures.contains(op))
      return;
    const IndexStructure &structure = structures.find(op)->second;
    IndexId index = structure.results[0].indices[dim];
    if (!structure.indices[index].whole)
      set(value, {Share::Cut, dim});
  }

  void set(Value value, Share share) {
    if (of(value) == share)
      return;
    shares[value] = share;
    changed = true;
  }

  FunctionOpInterface function;
  const Division &division;
  llvm::DenseMap<Operation *, IndexStructure> structures;
  /// The index by which an operation is cut.
  llvm::DenseMap<Operation *, IndexId> driven;
  llvm::DenseMap<Value, Share> shares;
  bool changed = false;
};

/// Between a tensor and its parts, by views that move nothing where the tensor
/// has the division's axes.
class Cutter {
public:
  Cutter(OpBuilder &b, const Division &division) : b(b), division(division) {}

  /// The type of a part of `type`.
  RankedTensorType partOf(RankedTensorType type, unsigned dim) const {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] /= division.parts;
    return RankedTensorType::get(shape, type.getElementType(),
                                 type.getEncoding());
  }

  Value take(Value whole, unsigned dim, int64_t part) {
    auto type = typeOf(whole);
    // For the ledger, a part is called as the whole is.
    Location loc =
        NameLoc::get(b.getStringAttr(tensorName(whole)), whole.getLoc());
    Parts parts = partsOf(type, dim);
    StringAttr partName = nameOf(type, dim, "part");
    Value split = SplitOp::create(b, loc, divided(type, dim, parts, true),
                                  ValueRange{whole});
    Value taken =
        TakeOp::create(b, loc, divided(type, dim, parts, false),
                       ValueRange{split}, partName, b.getI64IntegerAttr(part));
    return gathered(taken, partOf(type, dim));
  }

  Value stack(ArrayRef<Value> values, RankedTensorType type, unsigned dim) {
    Location loc = values.front().getLoc();
    Parts parts = partsOf(type, dim);
    SmallVector<Value> blocks;
    for (Value value : values)
      blocks.push_back(
          opened(value, divided(typeOf(value), dim, parts, false)));
    Value stacked =
        StackOp::create(b, loc, divided(typeOf(values[0]), dim, parts, true),
                        blocks, nameOf(type, dim, "part"));
    return MergeOp::create(b, loc, type, ValueRange{stacked});
  }

private:
  /// How a dimension is written as several: blocks and rows are left out where
  /// they say nothing, as a trailing index of extent 1 belongs to nobody.
  struct Parts {
    int64_t blocks, rows;
    bool hasBlocks, hasRows;
  };

  static RankedTensorType typeOf(Value value) {
    return cast<RankedTensorType>(value.getType());
  }

  StringAttr nameOf(RankedTensorType type, unsigned dim, StringRef part) {
    StringRef index = getIdx(type).getNames()[dim].getValue();
    return b.getStringAttr(index + "." + part);
  }

  Parts partsOf(RankedTensorType whole, unsigned dim) const {
    Parts parts;
    parts.blocks = division.blocks;
    parts.rows = whole.getDimSize(dim) / division.blocks / division.parts;
    parts.hasRows = parts.rows > 1;
    parts.hasBlocks =
        parts.blocks > 1 || !division.axes.empty() || !parts.hasRows;
    return parts;
  }

  /// `type` with dimension `dim` as (blocks, parts if `withPart`, rows).
  RankedTensorType divided(RankedTensorType type, unsigned dim,
                           const Parts &parts, bool withPart) {
    IdxAttr idx = getIdx(type);
    SmallVector<StringAttr> names;
    SmallVector<ArrayAttr> axes;
    SmallVector<int64_t> extents;
    auto add = [&](StringRef name, int64_t extent, ArrayAttr on) {
      names.push_back(nameOf(type, dim, name));
      extents.push_back(extent);
      axes.push_back(on);
    };
    // Elsewhere than on the blocks no axis can stay.
    bool placed = !idx.getUnplaced() && idx.getAxes()[dim] == division.axes;
    ArrayAttr none = b.getArrayAttr({});
    if (parts.hasBlocks)
      add("block", parts.blocks, placed ? division.axes : none);
    if (withPart)
      add("part", division.parts, none);
    if (parts.hasRows)
      add("row", parts.rows, none);
    return replaced(type, dim, names, axes, extents, placed);
  }

  RankedTensorType replaced(RankedTensorType type, unsigned dim,
                            ArrayRef<StringAttr> names,
                            ArrayRef<ArrayAttr> axes, ArrayRef<int64_t> extents,
                            bool placed) {
    IdxAttr idx = getIdx(type);
    SmallVector<StringAttr> allNames(idx.getNames());
    SmallVector<ArrayAttr> allAxes(idx.getAxes());
    SmallVector<int64_t> shape(type.getShape());
    auto splice = [&](auto &all, auto part) {
      all.erase(all.begin() + dim);
      all.insert(all.begin() + dim, part.begin(), part.end());
    };
    splice(allNames, names);
    splice(allAxes, axes);
    splice(shape, extents);
    auto encoding =
        IdxAttr::get(b.getContext(), allNames, allAxes, idx.getPending(),
                     idx.getPendingMax(), idx.getUnplaced(), idx.getLocal());
    auto result = RankedTensorType::get(shape, type.getElementType(), encoding);
    return placed ? result : withoutPlacement(result);
  }

  /// (blocks, rows) as one index again.
  Value gathered(Value value, RankedTensorType type) {
    if (typeOf(value).getRank() == type.getRank())
      return RenameOp::create(b, value.getLoc(), type, ValueRange{value});
    return MergeOp::create(b, value.getLoc(), type, ValueRange{value});
  }

  Value opened(Value value, RankedTensorType type) {
    if (typeOf(value).getRank() == type.getRank())
      return RenameOp::create(b, value.getLoc(), type, ValueRange{value});
    return SplitOp::create(b, value.getLoc(), type, ValueRange{value});
  }

  OpBuilder &b;
  const Division &division;
};

/// Gives what it sees the phase of the operation that it is made for.
class MarkPhase : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (part)
      op->setAttr(partAttrName, part);
    if (backward)
      op->setAttr(backwardAttrName, UnitAttr::get(op->getContext()));
  }
  IntegerAttr part;
  bool backward = false;
};

/// Rewrites a function part by part.
class Repeater {
public:
  Repeater(FunctionOpInterface function, const Division &division,
           const Shares &shares)
      : body(function.getFunctionBody().front()), division(division),
        shares(shares), b(function.getContext(), &mark), cutter(b, division) {}

  LogicalResult run() {
    SmallVector<Operation *> ops;
    for (Operation &op : body.without_terminator())
      if (op.getNumResults() == 1 &&
          shares.of(op.getResult(0)).kind != Share::Same)
        ops.push_back(&op);
    findRest(ops);
    Operation *terminator = body.getTerminator();
    b.setInsertionPoint(terminator);
    for (int64_t part = 0; part < division.parts; ++part) {
      begin(part);
      for (Operation *op : ops) {
        if (failed(repeat(op)))
          return failure();
        // At once, so that only the sum lives on.
        if (llvm::is_contained(op->getUsers(), terminator))
          collect(op->getResult(0));
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

  void begin(int64_t number) {
    part = number;
    mark.part = b.getI64IntegerAttr(number);
    current.clear();
    slices.clear();
  }

  static bool isBackward(Value value) {
    Operation *op = value.getDefiningOp();
    return op && op->hasAttr(backwardAttrName);
  }

  bool isSummand(Value value) const {
    return shares.of(value).kind == Share::Summand;
  }

  /// Whether the operation adds summands and what is the same in every part.
  bool addsSummands(Operation *op) const {
    return cast<IndexedOpInterface>(op).isSumOfOperands() &&
           llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isSummand(operand); });
  }

  /// Sums that have a rest besides their parts: what is the same in every part
  /// and is added to them once.
  void findRest(ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      bool adds = addsSummands(op);
      if (llvm::any_of(op->getOperands(), [&](Value operand) {
            return rest.contains(operand) || (adds && !isSummand(operand));
          }))
        rest.insert(op->getResult(0));
    }
  }

  /// A clone of `op` on other operands, all that is left of a sum's.
  Operation *cloneOn(Operation *op, SmallVector<Value> operands) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
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
    mark.backward = op->hasAttr(backwardAttrName);
    Share share = shares.of(op->getResult(0));
    bool onlySummands = addsSummands(op);
    SmallVector<Value> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      if (!onlySummands || isSummand(operand))
        operands.push_back(inThisPart(op, i));
    Operation *clone = cloneOn(op, operands);
    Value result = clone->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    if (share.kind == Share::Cut)
      result.setType(cutter.partOf(type, share.dim));
    else
      delay(clone);
    b.insert(clone);
    current[op->getResult(0)] = result;
    // A lookup is of positions of an index that its result lacks.
    StringRef index = share.kind == Share::Cut
                          ? indexNames(result.getType())[share.dim]
                          : shares.cutIndex(op);
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
    mark.backward = op->hasAttr(backwardAttrName);
    bool adds = addsSummands(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Value value = rests.lookup(operand))
        operands.push_back(value);
      else if (!isSummand(operand))
        operands.push_back(operand);
      else if (!adds)
        operands.push_back(ScaleOp::create(
            b, op->getLoc(),
            withoutPlacement(cast<RankedTensorType>(operand.getType())),
            ValueRange{current.lookup(operand)}, b.getF64FloatAttr(0)));
    }
    Operation *clone = cloneOn(op, operands);
    b.insert(clone);
    Value result = op->getResult(0), value = clone->getResult(0);
    rests[result] = value;
    auto it = results.find(result);
    if (it != results.end())
      it->second = {add(result, it->second.front(), value)};
  }

  Value add(Value result, Value first, Value second) {
    auto sum = AddOp::create(b, result.getLoc(), result.getType(),
                             ValueRange{first, second});
    if (result.getDefiningOp()->hasAttr(weightAttrName))
      sum->setAttr(weightAttrName, b.getUnitAttr());
    return sum;
  }

  /// Leaves a summand as it comes out; where it was wanted is only a goal.
  void delay(Operation *op) {
    Value result = op->getResult(0);
    auto type = cast<RankedTensorType>(result.getType());
    if (isUnplaced(type))
      return;
    op->setAttr(goalAttrName, TypeAttr::get(type));
    result.setType(withoutPlacement(type));
  }

  /// Adds this part's contribution to a result.
  void collect(Value result) {
    Value value = current.lookup(result);
    SmallVector<Value> &parts = results[result];
    if (shares.of(result).kind == Share::Cut || parts.empty()) {
      parts.push_back(value);
      return;
    }
    mark.backward = isBackward(result);
    Value sum = add(result, parts.front(), value);
    if (!isLast() || rest.contains(result))
      delay(sum.getDefiningOp());
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
      mark.backward = isBackward(result);
      if (share.kind == Share::Cut && it->second.size() > 1)
        it->second = {cutter.stack(
            it->second, cast<RankedTensorType>(result.getType()), share.dim)};
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
  int64_t below = std::min(count, extent);
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
    if (!first) {
      first = i;
      division.axes = idx.getAxes()[*dim];
      Mesh mesh = meshOf(function);
      Placement placement = placementOf(argument.getType(), mesh);
      division.blocks *= mesh.groupSize(placement.dims[*dim]);
    }
    if (idx.getAxes()[*dim] != division.axes)
      return function->emitError("argument #")
             << i << " is [" << subscripts(argument.getType())
             << "] but argument #" << *first << " ["
             << subscripts(function.getArgument(*first).getType())
             << "]; micro-batches are parts of every rank's own '"
             << division.index
             << "', so all arguments need the same subscripts on it";
    int64_t extent =
        cast<RankedTensorType>(argument.getType()).getDimSize(*dim);
    if (extent % (division.blocks * division.parts) != 0)
      return function->emitError("argument #")
             << i << " has index '" << division.index << "' of extent "
             << extent << ", which " << division.blocks << " shards of "
             << division.parts << " micro-batches do not divide; "
             << nearestCounts(extent / division.blocks, division.parts)
             << " micro-batches would";
  }
  return success();
}

struct MicroBatch : public tpsp::impl::MicroBatchBase<MicroBatch> {
  using Base::Base;

  void runOnOperation() override {
    if (parts < 1) {
      getOperation().emitError("parts=")
          << parts.getValue() << " is no number of micro-batches; 1 is none";
      return signalPassFailure();
    }
    if (parts == 1)
      return;
    bool found = false;
    auto visit = [&](FunctionOpInterface function) {
      return cut(function, found);
    };
    if (failed(forEachFunction(getOperation(), visit)))
      return signalPassFailure();
    if (found)
      return;
    getOperation().emitError("no argument has an index '")
        << index.getValue()
        << "' to cut into micro-batches; name the batch with index=";
    signalPassFailure();
  }

private:
  LogicalResult cut(FunctionOpInterface function, bool &found) {
    Division division{index.getValue(), 1, parts, {}};
    if (failed(divide(function, division)))
      return failure();
    if (!division.axes)
      return success();
    found = true;
    Shares shares(function, division);
    if (failed(shares.find()))
      return failure();
    return Repeater(function, division, shares).run();
  }
};

} // namespace
