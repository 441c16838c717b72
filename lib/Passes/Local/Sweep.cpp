// tpsp-sweep: operations that can see an index block by block do so.
#include "Passes/Program/OriginListener.h"
#include "SweepBlocks.h"

#include "Passes/Collectives/Ledger.h"
#include "Passes/Logical/Decompose.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Program/LibraryCalls.h"

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

bool carries(Value value, StringRef index) {
  return getIdx(value).dimOf(index).has_value();
}

/// Operations that sweep the same blocks, done together.
struct SharedSweep {
  SmallVector<SweptOpInterface> ops;
  /// The operands with the swept index, whole.
  llvm::SetVector<Value> swept;

  SweptOpInterface first() { return ops.front(); }
  StringRef index() { return first().getSweptIndex(); }
};

/// The ranks among whom the swept index is gathered.
struct Ring {
  ArrayAttr axes;
  int64_t size = 1;
};

/// Whether `op` can stand where the sweep's first operation does, and has
/// blocks in common with it.
bool joins(SweptOpInterface op, SharedSweep &shared) {
  Operation *first = shared.first();
  return op.getSweptIndex() == shared.index() &&
         isBackward(op) == isBackward(first) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) {
                        Operation *source = operand.getDefiningOp();
                        return !source || source->isBeforeInBlock(first);
                      }) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return shared.swept.contains(operand);
         });
}

SmallVector<SharedSweep> findSweeps(Block &body,
                                    function_ref<bool(Operation *)> isLeft) {
  SmallVector<SharedSweep> sweeps;
  for (Operation &each : body) {
    auto op = dyn_cast<SweptOpInterface>(&each);
    if (!op || isLeft(op))
      continue;
    if (sweeps.empty() || !joins(op, sweeps.back()))
      sweeps.emplace_back();
    sweeps.back().ops.push_back(op);
    for (Value operand : op->getOperands())
      if (carries(operand, op.getSweptIndex()))
        sweeps.back().swept.insert(operand);
  }
  return sweeps;
}

/// Whether a result is made in parts, each of a block.
bool comesInParts(Value result, StringRef index) {
  return !result.use_empty() && carries(result, index);
}

/// The ranks that `op` moves dimension `index` among, if it is a collective
/// of this kind.
std::optional<Ring> ringOf(Operation *op, CollectiveKind kind, StringRef index,
                           const Mesh &mesh) {
  auto collective = dyn_cast_or_null<CollectiveOpInterface>(op);
  if (!collective || collective.getCollectiveKind() != kind ||
      op->getNumOperands() != 1)
    return std::nullopt;
  CollectiveStep step = stepOf(collective, mesh);
  std::optional<unsigned> moved =
      kind == CollectiveKind::AllGather ? step.from : step.to;
  if (moved != getIdx(op->getOperand(0)).dimOf(index))
    return std::nullopt;
  return Ring{collective.getAxes(), mesh.groupSize(step.axes)};
}

/// The ring that brings a sweep its blocks. There is a ring only if all swept
/// values are gathered for the sweep alone and among the same ranks. The
/// sweep's results along the index are scattered among these ranks.
std::optional<Ring> ringOf(SharedSweep &shared, const Mesh &mesh) {
  std::optional<Ring> ring;
  auto agrees = [&](std::optional<Ring> other) {
    if (!ring)
      ring = other;
    return other && other->axes == ring->axes;
  };
  for (Value value : shared.swept) {
    bool isForSweeps = llvm::all_of(value.getUsers(), [&](Operation *user) {
      auto swept = dyn_cast<SweptOpInterface>(user);
      return swept && swept.getSweptIndex() == shared.index();
    });
    if (!isForSweeps ||
        !agrees(ringOf(value.getDefiningOp(), CollectiveKind::AllGather,
                       shared.index(), mesh)))
      return std::nullopt;
  }
  for (SweptOpInterface op : shared.ops)
    for (Value result : op->getResults())
      if (comesInParts(result, shared.index()) &&
          (!result.hasOneUse() ||
           !agrees(ringOf(*result.user_begin(), CollectiveKind::ReduceScatter,
                          shared.index(), mesh))))
        return std::nullopt;
  return ring;
}

/// Parts of `extent` positions so that a block has `longest` at most; 1 if
/// only very short ones would be equal.
int64_t partsOf(int64_t extent, int64_t longest) {
  if (longest <= 0)
    return 1;
  int64_t least = extent / longest + (extent % longest != 0);
  for (int64_t parts = least; parts <= std::min(8 * least, extent); ++parts)
    if (extent % parts == 0)
      return parts;
  return 1;
}

void dropGathers(SharedSweep &shared) {
  for (Value value : shared.swept)
    if (Operation *gather = value.getDefiningOp())
      if (gather->use_empty() && isa<CollectiveOpInterface>(gather))
        gather->erase();
}

Value rounded(OpBuilder &b, Value x, RankedTensorType type) {
  return x.getType() == type
             ? x
             : Value(ConvertOp::create(b, x.getLoc(), type, ValueRange{x}));
}

/// In what sums are made: f32 for what is narrower.
Value wide(OpBuilder &b, Value x) {
  RankedTensorType type = typeOf(x);
  if (type.getElementTypeBitWidth() >= 32)
    return x;
  return ConvertOp::create(b, x.getLoc(),
                           RankedTensorType::get(type.getShape(),
                                                 b.getF32Type(),
                                                 type.getEncoding()),
                           ValueRange{x});
}

class Sweeper {
public:
  /// Operations that `isLeft` keeps are left out.
  Sweeper(FunctionOpInterface function, int64_t longest,
          function_ref<bool(Operation *)> isLeft)
      : body(function.getFunctionBody().front()), mesh(meshOf(function)),
        longest(longest), isLeft(isLeft), b(function.getContext(), &mark) {}

  /// `found`: whether there was anything to sweep.
  LogicalResult run(bool &found) {
    SmallVector<SharedSweep> sweeps = findSweeps(body, isLeft);
    found = !sweeps.empty();
    for (SharedSweep &shared : sweeps)
      for (SweptOpInterface op : shared.ops)
        if (failed(checkOperands(op)))
          return failure();
    for (SharedSweep &shared : sweeps)
      sweep(shared);
    return success();
  }

private:
  static LogicalResult checkOperands(SweptOpInterface op) {
    if (!getIdx(op->getResult(0)).getLocal())
      return op->emitOpError("is swept on one rank's shapes, and these are "
                             "global; run tpsp-partition first");
    auto attention = dyn_cast<AttentionOpInterface>(*op);
    if (attention && attention.isGradient() && attention.getBias())
      return op->emitOpError(
          "has a bias, and its gradients are not made in blocks of keys, as "
          "they are where its statistic is a result; way out: --attention "
          "fused, or leave the statistic out");
    if (attention && attention.getRowTile())
      return op->emitOpError(
          "has a tile of rows, which blocks do not know; run "
          "tpsp-balance-attention behind tpsp-sweep");
    return success();
  }

  /// The tensors that `value` is gathered of, among `ring`. They are in the
  /// order in which the ring brings them: the rank's own, the previous rank's,
  /// ... Without a ring, `value` alone.
  SmallVector<Value> tilesOf(Value value, StringRef index,
                             const std::optional<Ring> &ring) {
    if (!ring)
      return {value};
    Operation *gather = value.getDefiningOp();
    Value own = gather->getOperand(0);
    Location loc = gather->getLoc();
    SmallVector<Value> tiles = {RenameOp::create(
        b, loc, blockType(typeOf(own), index, extentOf(own, index)), own)};
    plan::LedgerAttr piece = pieceOf(gather, *ring);
    for (int64_t hop = 1; hop < ring->size; ++hop)
      tiles.push_back(rotated(loc, tiles.back(), *ring, 1, piece));
    return tiles;
  }

  /// The row of one hop of a collective around a ring.
  plan::LedgerAttr pieceOf(Operation *collective, const Ring &ring) {
    LedgerRow row = ledgerOf(cast<CollectiveOpInterface>(collective), mesh);
    return plan::LedgerAttr::get(b.getContext(),
                                 rowOfPiece(row, ring.size - 1, wholes++));
  }

  Value rotated(Location loc, Value value, const Ring &ring, int64_t by,
                plan::LedgerAttr piece) {
    Value result = RotateOp::create(b, loc, value.getType(), value, ring.axes,
                                    b.getI64IntegerAttr(by), piece);
    rotations.push_back(result.getDefiningOp());
    return result;
  }

  //===--------------------------------------------------------------------===//
  // Sweeps
  //===--------------------------------------------------------------------===//

  /// The state of a result that carries the index.
  struct Output {
    /// Its parts, of the tile at hand if there is a ring.
    SmallVector<Value> parts;
    /// The sum of all ranks' results for the rank's own tile so far, if there
    /// is a ring.
    Value sum;
    /// The ledger row of the transfers that bring them.
    plan::LedgerAttr row;
  };

  /// The state of one operation.
  struct Progress {
    SweptOpInterface op;
    SmallVector<Value> state;
    SmallVector<Output> outputs;
  };

  void sweep(SharedSweep &shared) {
    mark.follow(shared.first());
    b.setInsertionPoint(shared.first());
    StringRef index = shared.index();
    std::optional<Ring> ring = ringOf(shared, mesh);
    llvm::MapVector<Value, SmallVector<Value>> tiles;
    for (Value value : shared.swept)
      tiles[value] = tilesOf(value, index, ring);
    int64_t extent = extentOf(tiles.front().second.front(), index);
    int64_t parts = partsOf(extent, longest);
    SmallVector<Progress> progress;
    for (SweptOpInterface op : shared.ops)
      progress.push_back({op, {}, SmallVector<Output>(op->getNumResults())});
    for (int64_t hop = 0; hop < (ring ? ring->size : 1); ++hop) {
      for (int64_t part = 0; part < parts; ++part) {
        IRMapping block;
        for (auto &[value, rotation] : tiles)
          block.map(value, partOf(b, rotation[hop], index, parts, part));
        TileAttr tile = tileAt(index, ring, extent, hop, extent / parts * part);
        for (Progress &each : progress)
          visit(each, block, tile);
      }
      for (Progress &each : progress)
        if (ring)
          sendHome(each, *ring, hop);
    }
    for (Progress &each : progress)
      for (auto [result, output] :
           llvm::zip_equal(each.op->getResults(), each.outputs))
        if (!result.use_empty())
          replace(each, result, output, ring);
    for (SweptOpInterface op : shared.ops)
      op->erase();
    dropGathers(shared);
    sinkRotations();
  }

  /// Hop 1 brings the previous rank's.
  TileAttr tileAt(StringRef index, const std::optional<Ring> &ring,
                  int64_t extent, int64_t hop, int64_t offset) {
    int64_t shift = ring ? (ring->size - hop) % ring->size : 0;
    return TileAttr::get(b.getContext(), b.getStringAttr(index), extent, shift,
                         offset, ring ? ring->axes : b.getArrayAttr({}));
  }

  void visit(Progress &progress, const IRMapping &block, TileAttr tile) {
    SweptOpInterface op = progress.op;
    SmallVector<Value> operands, parts(op->getNumResults());
    for (Value operand : op->getOperands())
      operands.push_back(block.lookupOrDefault(operand));
    progress.state = op.sweepBlock(b, operands, tile, progress.state, parts);
    for (auto [part, output] : llvm::zip_equal(parts, progress.outputs))
      if (part)
        output.parts.push_back(part);
  }

  void replace(Progress &progress, OpResult result, Output &output,
               const std::optional<Ring> &ring) {
    SweptOpInterface op = progress.op;
    StringRef index = op.getSweptIndex();
    Value replaced = result, replacement;
    if (!carries(result, index)) {
      replacement = op.finishSweep(b, progress.state, result.getResultNumber());
    } else if (!ring) {
      replacement = joined(b, output.parts, typeOf(result), index);
    } else {
      replaced = result.user_begin()->getResult(0);
      replacement = rounded(b, output.sum, typeOf(replaced));
    }
    replacement.getDefiningOp()->setLoc(locationOf(replaced));
    replaced.replaceAllUsesWith(replacement);
    if (replaced != result)
      replaced.getDefiningOp()->erase();
  }

  void sendHome(Progress &progress, const Ring &ring, int64_t hop) {
    StringRef index = progress.op.getSweptIndex();
    for (auto [result, output] :
         llvm::zip_equal(progress.op->getResults(), progress.outputs))
      if (comesInParts(result, index))
        sendHome(result, index, output, ring, hop);
  }

  /// Sends the result that this rank computed for the tile of `hop` to the
  /// owner of the tile. The results for its own tile are added in the order of
  /// the hops, its own first.
  void sendHome(Value result, StringRef index, Output &output, const Ring &ring,
                int64_t hop) {
    Operation *scatter = *result.user_begin();
    Location loc = scatter->getLoc();
    RankedTensorType type = typeOf(scatter->getResult(0));
    int64_t extent = extentOf(type, index);
    Value tile =
        joined(b, output.parts,
               blockType(typeOf(output.parts.front()), index, extent), index);
    output.parts.clear();
    if (!output.row)
      output.row = pieceOf(scatter, ring);
    if (hop > 0)
      tile = rotated(loc, tile, ring, ring.size - hop, output.row);
    Value summand = wide(b, RenameOp::create(b, loc, type, tile));
    output.sum = hop == 0
                     ? summand
                     : Value(AddOp::create(b, loc, summand.getType(),
                                           ValueRange{output.sum, summand}));
  }

  /// One command after another, a tile arrives just before it is used.
  void sinkRotations() {
    for (Operation *rotation : llvm::reverse(rotations)) {
      Operation *earliest = nullptr;
      for (Operation *user : rotation->getUsers())
        if (!earliest || user->isBeforeInBlock(earliest))
          earliest = user;
      if (!earliest)
        continue;
      // Moved in one go, it would make the block number all its operations.
      rotation->remove();
      body.getOperations().insert(earliest->getIterator(), rotation);
    }
    rotations.clear();
  }

  Block &body;
  Mesh mesh;
  const int64_t longest;
  function_ref<bool(Operation *)> isLeft;
  OriginListener mark;
  OpBuilder b;
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

/// Moves an operation that only rounds a tensor, or drops values from it, to
/// the producer of the tensor. It is then in the same kernel, and the wide
/// tensor need not be stored for it.
void moveToProducers(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    Operation *producer =
        op.getNumOperands() == 1 ? op.getOperand(0).getDefiningOp() : nullptr;
    if (producer && isa<LoopOpInterface>(producer) && shrinks(&op))
      op.moveAfter(producer);
  }
}

struct Sweep
    : public WithOptions<tpsp::impl::SweepBase<Sweep>,
                         &CompileOptions::attention,
                         &CompileOptions::attentionBlock,
                         &CompileOptions::device, &CompileOptions::forGpu> {
  void runOnOperation() override {
    const CompileOptions &given = options();
    auto visit = [&](FunctionOpInterface function) {
      bool found = false;
      auto isLeft = [&](Operation *op) {
        return given.keepsCalls() &&
               isLibraryCall(op, given.usesGpuLibraries(), getArgument());
      };
      // Blocks of keys know no sinks.
      takeOutSinks(function, [&](Operation *op) { return !isLeft(op); });
      LogicalResult done =
          Sweeper(function, given.attentionBlock, isLeft).run(found);
      if (failed(done) || !found)
        return done;
      // Operations of one sweep create equal operations, of which one is kept.
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
