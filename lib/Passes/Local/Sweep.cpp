// tpsp-sweep: operations that can see an index block by block do so.
#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/LibraryCalls.h"
#include "tpsp/Dialect/Tpsp/BlockOps.h"
#include "tpsp/Dialect/Tpsp/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>

namespace tpsp {
#define GEN_PASS_DEF_SWEEP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

bool carries(Value value, StringRef index) {
  return getIdx(value).dimOf(index).has_value();
}

int64_t extentOf(Value value, StringRef index) {
  return typeOf(value).getDimSize(*getIdx(value).dimOf(index));
}

/// `type` with `extent` positions of `index`, and no subscripts there: which
/// positions they are, a tile says.
RankedTensorType blockType(RankedTensorType type, StringRef index,
                           int64_t extent) {
  IdxAttr idx = getIdx(type);
  unsigned dim = *idx.dimOf(index);
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<ArrayAttr> axes(idx.getAxes());
  shape[dim] = extent;
  axes[dim] = ArrayAttr::get(type.getContext(), {});
  return RankedTensorType::get(
      shape, type.getElementType(),
      IdxAttr::get(type.getContext(), idx.getNames(), axes, idx.getPending(),
                   idx.getPendingMax(), idx.getUnplaced(), idx.getLocal()));
}

/// `type` with `index` seen as (`major`, index), each of an extent.
RankedTensorType splitType(RankedTensorType type, StringRef index,
                           StringAttr major, int64_t blocks) {
  IdxAttr idx = getIdx(type);
  unsigned dim = *idx.dimOf(index);
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(idx.getNames());
  SmallVector<ArrayAttr> axes(idx.getAxes());
  shape[dim] /= blocks;
  shape.insert(shape.begin() + dim, blocks);
  // The name must differ from the whole index's for a split.
  names[dim] = StringAttr::get(type.getContext(), index + ".in");
  names.insert(names.begin() + dim, major);
  axes.insert(axes.begin() + dim, ArrayAttr::get(type.getContext(), {}));
  return RankedTensorType::get(
      shape, type.getElementType(),
      IdxAttr::get(type.getContext(), names, axes, idx.getPending(),
                   idx.getPendingMax(), idx.getUnplaced(), idx.getLocal()));
}

RankedTensorType withoutIndex(RankedTensorType type, StringRef index) {
  SmallVector<StringRef> names = indexNames(type);
  llvm::erase(names, index);
  return tensorOver(names, {type});
}

/// Operations that sweep the same blocks, done together.
struct Group {
  SmallVector<SweptOpInterface> ops;
  /// What they read of the swept index, whole.
  llvm::SetVector<Value> swept;

  SweptOpInterface first() { return ops.front(); }
  StringRef index() { return first().getSweptIndex(); }
};

/// The ranks among whom the swept index is gathered.
struct Ring {
  ArrayAttr axes;
  int64_t size = 1;
};

class Sweeper {
public:
  /// Of the operations that `isLeft` does not keep from it.
  Sweeper(FunctionOpInterface function, int64_t longest,
          function_ref<bool(Operation *)> isLeft)
      : body(function.getFunctionBody().front()), mesh(meshOf(function)),
        longest(longest), isLeft(isLeft), b(function.getContext(), &mark) {}

  /// `found`: whether there was anything to sweep.
  LogicalResult run(bool &found) {
    for (Operation &op : body)
      order[&op] = order.size();
    SmallVector<Group> groups = findGroups();
    found = !groups.empty();
    for (Group &group : groups)
      for (SweptOpInterface op : group.ops)
        if (!getIdx(op->getResult(0)).getLocal())
          return op->emitOpError("is swept on one rank's shapes, and these are "
                                 "global; run tpsp-partition first");
    for (Group &group : groups)
      sweep(group);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Groups
  //===--------------------------------------------------------------------===//

  SmallVector<Group> findGroups() {
    SmallVector<Group> groups;
    for (Operation &each : body) {
      auto op = dyn_cast<SweptOpInterface>(&each);
      if (!op || isLeft(op))
        continue;
      if (groups.empty() || !joins(op, groups.back()))
        groups.emplace_back();
      groups.back().ops.push_back(op);
      for (Value operand : op->getOperands())
        if (carries(operand, op.getSweptIndex()))
          groups.back().swept.insert(operand);
    }
    return groups;
  }

  /// Whether `op` can stand where the group's first operation does, and has
  /// blocks in common with it.
  bool joins(SweptOpInterface op, Group &group) {
    Operation *first = group.first();
    return op.getSweptIndex() == group.index() &&
           op->hasAttr(backwardAttrName) == first->hasAttr(backwardAttrName) &&
           llvm::all_of(op->getOperands(),
                        [&](Value operand) {
                          Operation *source = operand.getDefiningOp();
                          return !source || order[source] < order[first];
                        }) &&
           llvm::any_of(op->getOperands(), [&](Value operand) {
             return group.swept.contains(operand);
           });
  }

  //===--------------------------------------------------------------------===//
  // Rings
  //===--------------------------------------------------------------------===//

  /// The ranks that `op` moves dimension `index` among, if it is a collective
  /// of this kind.
  std::optional<Ring> ringOf(Operation *op, CollectiveKind kind,
                             StringRef index) {
    auto collective = dyn_cast_or_null<CollectiveOpInterface>(op);
    if (!collective || collective.getCollectiveKind() != kind ||
        op->getNumOperands() != 1)
      return std::nullopt;
    CollectiveStep step = stepOf(collective, mesh);
    std::optional<unsigned> moved =
        kind == CollectiveKind::AllGather ? step.from : step.to;
    if (moved != getIdx(op->getOperand(0)).dimOf(index))
      return std::nullopt;
    return Ring{op->getAttrOfType<ArrayAttr>("axes"),
                mesh.groupSize(step.axes)};
  }

  /// The ring that brings the group its blocks: all that it sweeps is gathered
  /// for it alone and among the same ranks, and what it makes of the index is
  /// scattered among them.
  std::optional<Ring> ringOf(Group &group) {
    std::optional<Ring> ring;
    auto agrees = [&](std::optional<Ring> other) {
      if (!ring)
        ring = other;
      return other && other->axes == ring->axes;
    };
    for (Value value : group.swept) {
      bool isForSweeps = llvm::all_of(value.getUsers(), [&](Operation *user) {
        auto swept = dyn_cast<SweptOpInterface>(user);
        return swept && swept.getSweptIndex() == group.index();
      });
      if (!isForSweeps ||
          !agrees(ringOf(value.getDefiningOp(), CollectiveKind::AllGather,
                         group.index())))
        return std::nullopt;
    }
    for (SweptOpInterface op : group.ops) {
      Value result = op->getResult(0);
      if (carries(result, group.index()) &&
          (!result.hasOneUse() ||
           !agrees(ringOf(*result.user_begin(), CollectiveKind::ReduceScatter,
                          group.index()))))
        return std::nullopt;
    }
    return ring;
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Parts of `extent` positions so that a block has `longest` at most; 1 if
  /// only very short ones would be equal.
  int64_t partsOf(int64_t extent) const {
    if (longest <= 0)
      return 1;
    int64_t least = extent / longest + (extent % longest != 0);
    for (int64_t parts = least; parts <= std::min(8 * least, extent); ++parts)
      if (extent % parts == 0)
        return parts;
    return 1;
  }

  StringAttr majorName(StringRef index) {
    return b.getStringAttr(index + ".block");
  }

  /// Part `at` of `parts` of a tensor along `index`.
  Value partOf(Value tile, StringRef index, int64_t parts, int64_t at) {
    if (parts == 1)
      return tile;
    Location loc = tile.getLoc();
    RankedTensorType split =
        splitType(typeOf(tile), index, majorName(index), parts);
    Value seen = SplitOp::create(b, loc, split, tile);
    Value taken = TakeOp::create(b, loc, withoutIndex(split, majorName(index)),
                                 ValueRange{seen}, majorName(index),
                                 b.getI64IntegerAttr(at));
    return RenameOp::create(
        b, loc, blockType(typeOf(tile), index, extentOf(tile, index) / parts),
        taken);
  }

  /// The inverse: parts along `index`, as one tensor of `type`.
  Value joined(ArrayRef<Value> parts, RankedTensorType type, StringRef index) {
    if (parts.size() == 1)
      return parts.front();
    Location loc = parts.front().getLoc();
    RankedTensorType split =
        splitType(type, index, majorName(index), parts.size());
    SmallVector<Value> blocks;
    for (Value part : parts)
      blocks.push_back(RenameOp::create(
          b, loc, withoutIndex(split, majorName(index)), part));
    Value stacked = StackOp::create(b, loc, split, blocks, majorName(index));
    return MergeOp::create(b, loc, type, stacked);
  }

  /// The tensors that `value`, which is gathered among `ring`, is gathered of,
  /// in the order in which the ring brings them: the rank's own, the previous
  /// rank's, ... Without a ring, `value` alone.
  SmallVector<Value> tilesOf(Value value, StringRef index,
                             const std::optional<Ring> &ring) {
    if (!ring)
      return {value};
    Operation *gather = value.getDefiningOp();
    Value own = gather->getOperand(0);
    Location loc = gather->getLoc();
    SmallVector<Value> tiles = {RenameOp::create(
        b, loc, blockType(typeOf(own), index, extentOf(own, index)), own)};
    DictionaryAttr row = ledgerOf(cast<CollectiveOpInterface>(gather), mesh);
    DictionaryAttr piece =
        rowOfPiece(row, "all_gather", ring->size - 1, wholes++);
    for (int64_t hop = 1; hop < ring->size; ++hop)
      tiles.push_back(rotated(loc, tiles.back(), *ring, 1, piece));
    return tiles;
  }

  Value rotated(Location loc, Value value, const Ring &ring, int64_t by,
                DictionaryAttr piece) {
    Value result = RotateOp::create(b, loc, value.getType(), value, ring.axes,
                                    b.getI64IntegerAttr(by), piece);
    rotations.push_back(result.getDefiningOp());
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Sweeps
  //===--------------------------------------------------------------------===//

  /// What one operation of a group has come to.
  struct Progress {
    SmallVector<Value> state;
    /// Of a result that carries the index: its parts, of the tile at hand if
    /// there is a ring.
    SmallVector<Value> parts;
    /// And what all ranks made of the rank's own tile so far, if there is one.
    Value sum;
    /// The row of what brings them.
    DictionaryAttr row;
  };

  void sweep(Group &group) {
    mark.backward = group.first()->getAttr(backwardAttrName);
    b.setInsertionPoint(group.first());
    StringRef index = group.index();
    std::optional<Ring> ring = ringOf(group);
    llvm::MapVector<Value, SmallVector<Value>> tiles;
    for (Value value : group.swept)
      tiles[value] = tilesOf(value, index, ring);
    int64_t extent = extentOf(tiles.front().second.front(), index);
    int64_t parts = partsOf(extent);
    SmallVector<Progress> progress(group.ops.size());
    for (int64_t hop = 0; hop < (ring ? ring->size : 1); ++hop) {
      for (int64_t part = 0; part < parts; ++part) {
        IRMapping block;
        for (auto &[value, rotation] : tiles)
          block.map(value, partOf(rotation[hop], index, parts, part));
        TileAttr tile = tileAt(index, ring, extent, hop, extent / parts * part);
        for (auto [op, each] : llvm::zip_equal(group.ops, progress))
          visit(op, block, tile, each);
      }
      for (auto [op, each] : llvm::zip_equal(group.ops, progress))
        if (ring && carries(op->getResult(0), index))
          sendHome(op, each, *ring, hop);
    }
    for (auto [op, each] : llvm::zip_equal(group.ops, progress))
      replace(op, each, ring);
    for (SweptOpInterface op : group.ops)
      op->erase();
    dropGathers(group);
    sinkRotations();
  }

  /// Hop 1 brings the previous rank's.
  TileAttr tileAt(StringRef index, const std::optional<Ring> &ring,
                  int64_t extent, int64_t hop, int64_t offset) {
    int64_t shift = ring ? (ring->size - hop) % ring->size : 0;
    return TileAttr::get(b.getContext(), b.getStringAttr(index), extent, shift,
                         offset, ring ? ring->axes : b.getArrayAttr({}));
  }

  void visit(SweptOpInterface op, const IRMapping &block, TileAttr tile,
             Progress &progress) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(block.lookupOrDefault(operand));
    Value part;
    progress.state = op.sweepBlock(b, operands, tile, progress.state, part);
    if (part)
      progress.parts.push_back(part);
  }

  void replace(SweptOpInterface op, Progress &progress,
               const std::optional<Ring> &ring) {
    Value result = op->getResult(0), replacement;
    Operation *replaced = op;
    if (!carries(result, op.getSweptIndex())) {
      replacement = op.finishSweep(b, progress.state);
    } else if (!ring) {
      replacement = joined(progress.parts, typeOf(result), op.getSweptIndex());
    } else {
      replaced = *result.user_begin();
      replacement = rounded(progress.sum, typeOf(replaced->getResult(0)));
    }
    replacement.getDefiningOp()->setLoc(replaced->getLoc());
    replaced->getResult(0).replaceAllUsesWith(replacement);
    if (replaced != op)
      replaced->erase();
  }

  /// What this rank made of the tile of `hop` goes to its owner, and what came
  /// for its own is added up: in the order of the hops, own first.
  void sendHome(SweptOpInterface op, Progress &progress, const Ring &ring,
                int64_t hop) {
    StringRef index = op.getSweptIndex();
    Operation *scatter = *op->getResult(0).user_begin();
    Location loc = scatter->getLoc();
    RankedTensorType type = typeOf(scatter->getResult(0));
    int64_t extent = type.getDimSize(*getIdx(type).dimOf(index));
    Value tile =
        joined(progress.parts,
               blockType(typeOf(progress.parts.front()), index, extent), index);
    progress.parts.clear();
    if (!progress.row)
      progress.row =
          rowOfPiece(ledgerOf(cast<CollectiveOpInterface>(scatter), mesh),
                     "reduce_scatter", ring.size - 1, wholes++);
    if (hop > 0)
      tile = rotated(loc, tile, ring, ring.size - hop, progress.row);
    Value summand = wide(RenameOp::create(b, loc, type, tile));
    progress.sum =
        hop == 0 ? summand
                 : Value(AddOp::create(b, loc, summand.getType(),
                                       ValueRange{progress.sum, summand}));
  }

  Value rounded(Value x, RankedTensorType type) {
    return x.getType() == type
               ? x
               : Value(ConvertOp::create(b, x.getLoc(), type, ValueRange{x}));
  }

  /// In what sums are made: f32 for what is narrower.
  Value wide(Value x) {
    RankedTensorType type = typeOf(x);
    if (type.getElementTypeBitWidth() >= 32)
      return x;
    return ConvertOp::create(b, x.getLoc(),
                             RankedTensorType::get(type.getShape(),
                                                   b.getF32Type(),
                                                   type.getEncoding()),
                             ValueRange{x});
  }

  static void dropGathers(Group &group) {
    for (Value value : group.swept)
      if (Operation *gather = value.getDefiningOp())
        if (gather->use_empty() && isa<CollectiveOpInterface>(gather))
          gather->erase();
  }

  /// One command after another, a tile arrives just before it is used.
  void sinkRotations() {
    for (Operation *rotation : llvm::reverse(rotations)) {
      Operation *earliest = nullptr;
      for (Operation *user : rotation->getUsers())
        if (!earliest || user->isBeforeInBlock(earliest))
          earliest = user;
      if (earliest)
        rotation->moveBefore(earliest);
    }
    rotations.clear();
  }

  /// Gives what is built the phase of what it replaces, and no name.
  class Mark : public OpBuilder::Listener {
  public:
    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint) override {
      if (backward)
        op->setAttr(backwardAttrName, backward);
      op->setLoc(withoutSourceName(op->getLoc()));
    }
    Attribute backward;
  };

  Block &body;
  Mesh mesh;
  const int64_t longest;
  function_ref<bool(Operation *)> isLeft;
  Mark mark;
  OpBuilder b;
  llvm::DenseMap<Operation *, size_t> order;
  SmallVector<Operation *> rotations;
  int64_t wholes = 0;
};

/// Whether `op` makes of one tensor another of no more bytes.
bool shrinks(Operation *op) {
  if (!isa<LoopOpInterface>(op) || op->getNumOperands() != 1)
    return false;
  auto bytes = [](Value value) {
    RankedTensorType type = typeOf(value);
    return type.getNumElements() * type.getElementTypeBitWidth();
  };
  return bytes(op->getResult(0)) <= bytes(op->getOperand(0));
}

/// What is only rounded, or dropped from, stands where it is made: in the same
/// kernel, so that the wide tensor need not be stored for it.
void moveToProducers(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    Operation *producer =
        op.getNumOperands() == 1 ? op.getOperand(0).getDefiningOp() : nullptr;
    if (producer && isa<LoopOpInterface>(producer) && shrinks(&op))
      op.moveAfter(producer);
  }
}

struct Sweep : public tpsp::impl::SweepBase<Sweep> {
  using Base::Base;
  void runOnOperation() override {
    auto visit = [&](FunctionOpInterface function) {
      bool found = false;
      auto isLeft = [&](Operation *op) {
        return keepCalls && isLibraryCall(op, forGpu, getArgument());
      };
      LogicalResult done = Sweeper(function, longest, isLeft).run(found);
      if (failed(done) || !found)
        return done;
      // What operations of one group made alike is made once.
      IRRewriter rewriter(function.getContext());
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
      moveToProducers(function.getFunctionBody().front());
      return success();
    };
    if (failed(forEachFunction(getOperation(), visit)))
      signalPassFailure();
  }
};

} // namespace
