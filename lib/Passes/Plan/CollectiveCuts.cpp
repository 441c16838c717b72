#include "CollectiveCuts.h"

#include "Passes/Collectives/Ledger.h"
#include "PlanMatmul.h"
#include "tpsp/Algebra/MatmulCut.h"
#include "tpsp/Algebra/MatmulEpilogue.h"
#include "tpsp/Passes/Plan/StepOfProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

namespace {

//===----------------------------------------------------------------------===//
// Buffers and their tiles
//===----------------------------------------------------------------------===//

int64_t elementsOf(Value value) {
  return cast<MemRefType>(value.getType()).getNumElements();
}

int64_t dtypeOf(Value value) {
  return plan::runtimeType(cast<MemRefType>(value.getType()).getElementType());
}

MemRefType flatType(Value like, int64_t elements) {
  return MemRefType::get({elements},
                         cast<MemRefType>(like.getType()).getElementType());
}

/// Number `part` of `parts` equal parts of a tile.
struct TilePart {
  int64_t parts = 1, part = 0;
};

Value tileOfBuffer(OpBuilder &b, Location loc, Value buffer, Tiling tiling,
                   int64_t number, ArrayRef<int64_t> axes, TilePart part = {}) {
  return plan::TileOp::create(
      b, loc, flatType(buffer, elementsOf(buffer) / tiling.tiles / part.parts),
      buffer, b.getI64IntegerAttr(tiling.tiles),
      b.getI64IntegerAttr(tiling.chunk), b.getI64IntegerAttr(number),
      b.getDenseI64ArrayAttr(axes), b.getI64IntegerAttr(part.parts),
      b.getI64IntegerAttr(part.part));
}

/// How many pieces to try: those asked for, or several.
SmallVector<int64_t> pieceCounts(int64_t asked) {
  if (asked > 1)
    return {asked};
  return {2, 3, 4, 6, 8};
}

/// Whether more pieces are worth it: each is one more command, whose costs the
/// model knows best when they matter little.
bool isWorthMore(double seconds, double best) { return seconds < 0.99 * best; }

/// Who touches a buffer, through views.
struct BufferUsers {
  SmallVector<OpOperand *> uses;
  /// Tiles, and among them such as are counted from the rank's own.
  bool hasTiles = false, hasCountedTiles = false;
  SmallVector<plan::TileOp> tiles;

  explicit BufferUsers(plan::BufferOp buffer) { collect(buffer.getResult()); }

private:
  void collect(Value value) {
    for (OpOperand &use : value.getUses()) {
      if (auto view = dyn_cast<plan::ViewOp>(use.getOwner()))
        collect(view.getResult());
      else if (auto tile = dyn_cast<plan::TileOp>(use.getOwner()))
        note(tile);
      else
        uses.push_back(&use);
    }
  }

  void note(plan::TileOp tile) {
    tiles.push_back(tile);
    hasTiles = true;
    hasCountedTiles |= !tile.getAxes().empty();
  }
};

/// Whether a tensor can be cut the same on every rank. It is no tile itself,
/// and no tile of its buffer is counted from the rank's own.
bool canBeCut(Value tensor) {
  return !plan::tileOf(tensor) &&
         !BufferUsers(plan::bufferOf(tensor)).hasCountedTiles;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// What a step of an epilogue becomes in the tiles of a cut product.
struct CutStep {
  rt::EpilogueStep step;
  /// Null if it has none.
  Value buffer;
  /// nullopt: a tile needs the buffer whole.
  std::optional<Tiling> tiling;
  /// One tile does it for all: a sum over an operand that is not cut.
  bool isOnce = false;
};

using CutEpilogue = SmallVector<CutStep, 3>;

bool sumsOperand(rt::EpilogueStep step) {
  return step == rt::EpilogueStep::SumA || step == rt::EpilogueStep::SumB;
}

std::optional<CutStep> cutStep(rt::EpilogueStep step, Value buffer,
                               const MatmulForm &form, const MatmulCut &cut) {
  if (rt::hasMatrix(step)) {
    std::optional<Tiling> tiling = cut.tilingOf(MatmulTensor::C);
    return tiling ? std::optional(CutStep{step, buffer, tiling}) : std::nullopt;
  }
  std::optional<VectorCut> vector = step == rt::EpilogueStep::SumA
                                        ? cutRows(form, cut.form)
                                        : cutColumns(form, cut.form);
  if (!vector)
    return std::nullopt;
  return CutStep{step, buffer, vector->tiling,
                 sumsOperand(step) && !vector->tiling};
}

/// Whether a buffer is not cut yet, or is cut in just these tiles. `axes` are
/// the collective's if tiles are counted from the rank's own, and empty if they
/// are the same on every rank.
bool canBeCutInto(Value buffer, Tiling tiling, ArrayRef<int64_t> axes) {
  BufferUsers users(plan::bufferOf(buffer));
  return !plan::tileOf(buffer) &&
         llvm::all_of(users.tiles, [&](plan::TileOp tile) {
           return int64_t(tile.getTiles()) == tiling.tiles &&
                  int64_t(tile.getChunk()) == tiling.chunk &&
                  tile.getAxes() == axes;
         });
}

/// How the epilogue of `op` is cut with its product. `axes` as in canBeCutInto.
/// nullopt if the tiles of a buffer do not go with those of the product, or if
/// the buffer is cut otherwise already.
std::optional<CutEpilogue> cutEpilogue(plan::MatmulOp op, const MatmulCut &cut,
                                       ArrayRef<int64_t> axes) {
  CutEpilogue result;
  SmallVector<Value> buffers = op.getCallBuffers();
  ArrayRef<Value> next = ArrayRef<Value>(buffers).drop_front(3);
  for (rt::EpilogueStep step : plan::epilogueOf(op)) {
    if (!rt::hasBuffer(step)) {
      result.push_back({step, Value(), std::nullopt});
      continue;
    }
    std::optional<CutStep> part = cutStep(step, next.front(), formOf(op), cut);
    next = next.drop_front();
    if (!part)
      return std::nullopt;
    if (part->tiling && !canBeCutInto(part->buffer, *part->tiling, axes))
      return std::nullopt;
    result.push_back(*part);
  }
  return result;
}

/// The product of one tile; `tileOf` makes a buffer's tile. `isFirst`: does
/// what one tile does for all.
template <typename TileOf>
void createTileProduct(OpBuilder &b, plan::MatmulOp op, MatmulBuffers buffers,
                       const MatmulForm &form, const CutEpilogue &epilogue,
                       bool isFirst, TileOf tileOf) {
  SmallVector<rt::EpilogueStep> steps;
  for (const CutStep &each : epilogue) {
    if (each.isOnce && !isFirst)
      continue;
    steps.push_back(each.step);
    if (!each.buffer)
      continue;
    Value buffer =
        each.tiling ? tileOf(each.buffer, *each.tiling) : each.buffer;
    (rt::writesBuffer(each.step) ? buffers.writes : buffers.reads)
        .push_back(buffer);
  }
  createMatmul(b, op, buffers, form, steps);
}

/// The ledger's row of one of `pieces` parts of a collective of this kind.
DictionaryAttr ledgerOfPiece(Operation *collective, int64_t pieces,
                             int64_t whole) {
  return rowOfPiece(collective->getAttrOfType<DictionaryAttr>("ledger"),
                    collective->getName().stripDialect(), pieces, whole);
}

SmallVector<AxisId> axesOf(Operation *collective) {
  SmallVector<AxisId> axes;
  for (int64_t axis :
       collective->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
    axes.push_back(axis);
  return axes;
}

//===----------------------------------------------------------------------===//
// all_gather -> matmul
//===----------------------------------------------------------------------===//

/// A product that reads the gathered tensor, cut along the gathered index.
struct CutConsumer {
  plan::MatmulOp matmul;
  MatmulTensor operand;
  MatmulCut cut;
  CutEpilogue epilogue;
};

class GatherCutter {
public:
  GatherCutter(plan::AllGatherOp gather, int64_t group)
      : gather(gather), buffer(plan::bufferOf(gather.getTarget())),
        group(group), tiling{group, int64_t(gather.getChunk())} {
    findConsumers();
  }

  bool isPossible() const { return !consumers.empty(); }

  CollectiveCut choose(const CostModel &cost, int64_t chunks) {
    double products = 0, tile = 0;
    for (CutConsumer &consumer : consumers) {
      products += secondsOf(cost, consumer, formOf(consumer.matmul));
      tile += secondsOf(cost, consumer, consumer.cut.form);
    }
    int64_t bytes = plan::bytesOf(buffer.getType());
    double whole = cost.collectiveSeconds(CollectiveKind::AllGather, bytes,
                                          axesOf(gather));
    CollectiveCut cut{CollectiveCut::OwnFirst,
                      group,
                      1,
                      0,
                      whole + products,
                      std::max(tile, whole) + (group - 1) * tile};
    CollectiveCut ring = chooseRing(cost, chunks);
    if (ring.secondsAfter < cut.secondsAfter) {
      ring.secondsBefore = cut.secondsBefore;
      return ring;
    }
    return cut;
  }

  void apply(const CollectiveCut &cut, int64_t whole) {
    for (CutConsumer &consumer : consumers)
      cutConsumer(consumer, cut.parts);
    if (cut.kind == CollectiveCut::Ring)
      goAroundTheRing(cut.parts, whole);
  }

private:
  void findConsumers() {
    BufferUsers users(buffer);
    // One rank's tile of a buffer that is cut otherwise too could be anywhere.
    if (users.hasTiles)
      return;
    needsWhole = buffer.getKind() != plan::temporaryKind;
    for (OpOperand *use : users.uses) {
      if (use->getOwner() == gather)
        continue;
      if (std::optional<CutConsumer> consumer = consumerOf(*use))
        consumers.push_back(*consumer);
      else
        needsWhole = true;
    }
  }

  std::optional<CutConsumer> consumerOf(OpOperand &use) {
    auto matmul = dyn_cast<plan::MatmulOp>(use.getOwner());
    // As one of the factors, not for its epilogue.
    if (!matmul || use.getOperandNumber() > 1 ||
        plan::bufferOf(matmul.getA()) == plan::bufferOf(matmul.getB()))
      return std::nullopt;
    MatmulTensor operand =
        use.getOperandNumber() == 0 ? MatmulTensor::A : MatmulTensor::B;
    std::optional<MatmulCut> cut = cutMatmul(formOf(matmul), operand, tiling);
    if (!cut)
      return std::nullopt;
    // The others that the cut falls in must not be cut otherwise yet.
    Value tensors[] = {matmul.getA(), matmul.getB(), matmul.getC()};
    for (auto [tensor, part] : llvm::zip_equal(tensors, cut->tilings))
      if (part && (plan::tileOf(tensor) ||
                   BufferUsers(plan::bufferOf(tensor)).hasTiles))
        return std::nullopt;
    std::optional<CutEpilogue> epilogue = cutEpilogue(matmul, *cut, axes());
    if (!epilogue)
      return std::nullopt;
    return CutConsumer{matmul, operand, *cut, *epilogue};
  }

  double secondsOf(const CostModel &cost, const CutConsumer &consumer,
                   const MatmulForm &form) {
    return cost.matmulSeconds(matmulWork(consumer.matmul, form),
                              dtypeOf(buffer));
  }

  /// The product of one of `parts` parts of a tile; nullopt if a tile's parts
  /// do not fall where the tile does.
  std::optional<MatmulCut> partOf(const CutConsumer &consumer,
                                  int64_t parts) const {
    if (parts == 1)
      return consumer.cut;
    if (tiling.chunk % parts != 0)
      return std::nullopt;
    std::optional<MatmulCut> cut =
        cutMatmul(formOf(consumer.matmul), consumer.operand,
                  {tiling.tiles * parts, tiling.chunk / parts});
    if (!cut)
      return std::nullopt;
    for (auto [part, tile] :
         llvm::zip_equal(cut->tilings, consumer.cut.tilings))
      if (part.has_value() != tile.has_value() ||
          (part && part->chunk * parts != tile->chunk))
        return std::nullopt;
    return cut;
  }

  CollectiveCut chooseRing(const CostModel &cost, int64_t chunks) {
    CollectiveCut best{
        CollectiveCut::Ring, group, 1, 0, 0, *ringSeconds(cost, /*parts=*/1)};
    if (!canBeCut(gather.getSource()))
      return best;
    for (int64_t parts : pieceCounts(chunks)) {
      std::optional<double> seconds = ringSeconds(cost, parts);
      if (!seconds || (chunks < 2 && !isWorthMore(*seconds, best.secondsAfter)))
        continue;
      best.parts = parts;
      best.secondsAfter = *seconds;
    }
    return best;
  }

  /// The own tile's products, then those of the parts as they come; nullopt if
  /// tiles cannot be cut so.
  std::optional<double> ringSeconds(const CostModel &cost, int64_t parts) {
    double own = 0, part = 0;
    for (CutConsumer &consumer : consumers) {
      std::optional<MatmulCut> cut = partOf(consumer, parts);
      if (!cut)
        return std::nullopt;
      own += secondsOf(cost, consumer, consumer.cut.form);
      part += secondsOf(cost, consumer, cut->form);
    }
    double bytes = double(plan::bytesOf(buffer.getType())) / group / parts;
    double hop =
        cost.collectiveSeconds(CollectiveKind::Permute, bytes, axesOf(gather));
    double seconds = own + ownCopySeconds(cost);
    for (int64_t come = 1; come <= (group - 1) * parts; ++come)
      seconds = std::max(seconds, double(come) * hop) + part;
    return seconds;
  }

  double ownCopySeconds(const CostModel &cost) {
    if (!needsWhole)
      return 0;
    return cost.copySeconds(2.0 * plan::bytesOf(gather.getSource().getType()));
  }

  ArrayRef<int64_t> axes() { return gather.getAxes(); }

  /// The own tile's product, then those of the others', part by part, in the
  /// order in which the ring brings them: the previous rank's, ...
  void cutConsumer(CutConsumer &consumer, int64_t parts) {
    OpBuilder b(consumer.matmul);
    createOwnProduct(b, consumer);
    MatmulCut cut = *partOf(consumer, parts);
    for (int64_t hop = 1; hop < group; ++hop)
      for (int64_t part = 0; part < parts; ++part)
        createTile(b, consumer, group - hop, TilePart{parts, part}, cut.form,
                   tilesOf(b, consumer, group - hop, TilePart{parts, part}));
    consumer.matmul.erase();
  }

  /// What is gathered it takes from where it lies.
  void createOwnProduct(OpBuilder &b, CutConsumer &consumer) {
    SmallVector<Value> tensors = tilesOf(b, consumer, 0, TilePart());
    Value &gathered = tensors[size_t(consumer.operand)];
    Operation *unused = gathered.getDefiningOp();
    gathered = gather.getSource();
    unused->erase();
    MatmulCut cut = consumer.cut;
    cut.compact(consumer.operand);
    createTile(b, consumer, 0, TilePart(), cut.form, tensors);
  }

  void createTile(OpBuilder &b, const CutConsumer &consumer, int64_t number,
                  TilePart part, const MatmulForm &form,
                  ArrayRef<Value> tensors) {
    createTileProduct(b, consumer.matmul, {tensors[0], tensors[1], tensors[2]},
                      form, consumer.epilogue, /*isFirst=*/number == 0,
                      [&](Value buffer, Tiling tiling) {
                        return tileOfBuffer(b, consumer.matmul->getLoc(),
                                            buffer, tiling, number, axes(),
                                            part);
                      });
  }

  /// A, B and C of a part of a tile's product.
  SmallVector<Value> tilesOf(OpBuilder &b, const CutConsumer &consumer,
                             int64_t number, TilePart part) {
    plan::MatmulOp matmul = consumer.matmul;
    SmallVector<Value> tensors = {matmul.getA(), matmul.getB(), matmul.getC()};
    for (auto [tensor, cut] : llvm::zip_equal(tensors, consumer.cut.tilings))
      if (cut)
        tensor = tileOfBuffer(b, matmul.getLoc(), tensor, *cut, number, axes(),
                              part);
    return tensors;
  }

  void goAroundTheRing(int64_t parts, int64_t whole) {
    OpBuilder b(gather);
    DictionaryAttr row = ledgerOfPiece(gather, (group - 1) * parts, whole);
    SmallVector<Value> arrived = partsOfOwn(b, parts);
    for (int64_t hop = 1; hop < group; ++hop)
      for (int64_t part = 0; part < parts; ++part) {
        Value next =
            tileOfBuffer(b, gather.getLoc(), buffer.getResult(), tiling,
                         group - hop, axes(), TilePart{parts, part});
        passOn(b, arrived[part], next, /*isOwn=*/hop == 1, row);
        arrived[part] = next;
      }
    if (needsWhole)
      copyOwn(b);
    gather.erase();
  }

  SmallVector<Value> partsOfOwn(OpBuilder &b, int64_t parts) {
    Value own = gather.getSource();
    if (parts == 1)
      return {own};
    SmallVector<Value> result;
    for (int64_t part = 0; part < parts; ++part)
      result.push_back(tileOfBuffer(b, gather.getLoc(), own,
                                    Tiling{1, tiling.chunk}, 0, {},
                                    TilePart{parts, part}));
    return result;
  }

  /// From each rank to the next. `isOwn`: the source is the rank's own shard.
  void passOn(OpBuilder &b, Value source, Value target, bool isOwn,
              DictionaryAttr row) {
    int64_t period = tiling.chunk * group, runs = gather.getOuter();
    SmallVector<int64_t> from, pitches;
    for (int64_t rank = 0; rank < group; ++rank)
      from.push_back((rank + group - 1) % group);
    if (runs > 1)
      pitches = {runs, isOwn ? tiling.chunk : period, period};
    plan::PermuteOp::create(b, gather.getLoc(), source, target,
                            gather.getAxesAttr(), b.getDenseI64ArrayAttr(from),
                            row, b.getI64IntegerAttr(0),
                            b.getDenseI64ArrayAttr(pitches));
  }

  /// The own tile into its place among the others.
  void copyOwn(OpBuilder &b) {
    Location loc = gather.getLoc();
    plan::SliceOp::create(
        b, loc, gather.getSource(),
        tileOfBuffer(b, loc, buffer.getResult(), tiling, 0, axes()),
        b.getDenseI64ArrayAttr({}), gather.getOuterAttr(),
        gather.getChunkAttr(), b.getI64IntegerAttr(0), DictionaryAttr(),
        b.getI64IntegerAttr(0), b.getI64IntegerAttr(tiling.chunk * group));
  }

  plan::AllGatherOp gather;
  plan::BufferOp buffer;
  int64_t group;
  Tiling tiling;
  std::vector<CutConsumer> consumers;
  /// Something else reads the gathered tensor.
  bool needsWhole = false;
};

//===----------------------------------------------------------------------===//
// matmul -> reduce_scatter, all_reduce
//===----------------------------------------------------------------------===//

class ReductionCutter {
public:
  /// `source` is what is reduced, seen as rows of `run` elements that the
  /// reduction keeps together: chunks are parts of a row.
  ReductionCutter(Operation *reduction, CollectiveKind kind, Value source,
                  int64_t run)
      : reduction(reduction), kind(kind), source(plan::bufferOf(source)),
        run(run) {
    findProduct();
  }

  bool isPossible() { return bool(matmul); }

  std::optional<CollectiveCut> choose(const CostModel &cost, int64_t chunks) {
    std::optional<CollectiveCut> best;
    for (int64_t period : periods()) {
      std::optional<CollectiveCut> next = choosePieces(cost, chunks, period);
      // Copies take memory, too, which this does not know.
      if (next &&
          (!best || isWorthMore(next->secondsAfter, best->secondsAfter)))
        best = next;
    }
    return best;
  }

  void apply(const CollectiveCut &chosen, int64_t whole) {
    MatmulCut cut = *cutInto(chosen.pieces, chosen.period);
    CutEpilogue epilogue = *cutEpilogue(matmul, cut, {});
    cut.compact(MatmulTensor::C);
    OpBuilder b(matmul);
    DictionaryAttr row = ledgerOfPiece(reduction, chosen.pieces, whole);
    Tiling target{chosen.pieces, chosen.period / chosen.pieces};
    for (int64_t piece = 0; piece < chosen.pieces; ++piece) {
      Value part = createPart(b, source.getResult(), chosen.pieces);
      Value operands[] = {matmul.getA(), matmul.getB()};
      SmallVector<Value> tensors;
      for (auto [i, tensor] : llvm::enumerate(operands))
        tensors.push_back(cut.tilings[i]
                              ? tileOfBuffer(b, matmul.getLoc(), tensor,
                                             *cut.tilings[i], piece, {})
                              : tensor);
      createTileProduct(
          b, matmul, {tensors[0], tensors[1], part}, cut.form, epilogue,
          /*isFirst=*/piece == 0, [&](Value buffer, Tiling tiling) {
            return tileOfBuffer(b, matmul.getLoc(), buffer, tiling, piece, {});
          });
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(reduction);
      reducePart(b, part, target, piece, row);
    }
    reduction->erase();
    matmul.erase();
    if (source.use_empty())
      source.erase();
  }

private:
  /// The product that makes what is reduced, if nothing else does and nothing
  /// else reads it.
  void findProduct() {
    BufferUsers users(source);
    if (source.getKind() != plan::temporaryKind || users.hasTiles ||
        users.uses.size() != 2)
      return;
    for (OpOperand *use : users.uses)
      if (auto product = dyn_cast<plan::MatmulOp>(use->getOwner()))
        if (use->getOperandNumber() == 2)
          matmul = product;
  }

  /// What can be dealt out to the pieces: all that the reduction keeps together
  /// (pieces of rows), or a row of the product (pieces of columns). Rows need
  /// no copy; but products of few rows may be slower.
  SmallVector<int64_t> periods() {
    int64_t row = matmul.getLeading()[2];
    if (row < run && run % row == 0)
      return {run, row};
    return {run};
  }

  std::optional<MatmulCut> cutInto(int64_t pieces, int64_t period) {
    if (period % pieces != 0)
      return std::nullopt;
    std::optional<MatmulCut> cut =
        cutMatmul(formOf(matmul), MatmulTensor::C, {pieces, period / pieces});
    if (!cut)
      return std::nullopt;
    Value tensors[] = {matmul.getA(), matmul.getB()};
    for (auto [i, tensor] : llvm::enumerate(tensors))
      if (cut->tilings[i] && !canBeCut(tensor))
        return std::nullopt;
    // C's pieces are buffers of their own; a matrix would be laid out as C was.
    std::optional<CutEpilogue> epilogue = cutEpilogue(matmul, *cut, {});
    if (!epilogue || llvm::any_of(*epilogue, [](const CutStep &each) {
          return rt::hasMatrix(each.step);
        }))
      return std::nullopt;
    return cut;
  }

  std::optional<CollectiveCut> choosePieces(const CostModel &cost,
                                            int64_t chunks, int64_t period) {
    std::optional<CollectiveCut> best;
    for (int64_t pieces : pieceCounts(chunks))
      if (std::optional<CollectiveCut> next = price(cost, pieces, period))
        if (!best || next->secondsAfter < best->secondsAfter)
          best = next;
    return best;
  }

  std::optional<CollectiveCut> price(const CostModel &cost, int64_t pieces,
                                     int64_t period) {
    std::optional<MatmulCut> cut = cutInto(pieces, period);
    if (!cut)
      return std::nullopt;
    int64_t dtype = dtypeOf(source);
    double bytes = plan::bytesOf(source.getType());
    SmallVector<AxisId> axes = axesOf(reduction);
    double product = cost.matmulSeconds(matmulWork(matmul, cut->form), dtype);
    double piece = cost.collectiveSeconds(kind, bytes / pieces, axes);
    double copy = 0;
    if (period < run)
      copy = cost.copySeconds(2.0 * plan::bytesOf(target().getType()) / pieces);
    CollectiveCut result{CollectiveCut::Chunks, pieces, 1, period, 0, 0};
    result.secondsBefore = cost.matmulSeconds(matmulWork(matmul), dtype) +
                           cost.collectiveSeconds(kind, bytes, axes);
    result.secondsAfter =
        product + (pieces - 1) * std::max(product + copy, piece) + piece + copy;
    return result;
  }

  Value target() {
    if (auto scatter = dyn_cast<plan::ReduceScatterOp>(reduction))
      return scatter.getTarget();
    return cast<plan::AllReduceOp>(reduction).getTargets()[0];
  }

  /// A buffer of its own for one of the pieces of a tensor.
  Value createPart(OpBuilder &b, Value tensor, int64_t pieces) {
    return plan::BufferOp::create(
        b, matmul.getLoc(), flatType(tensor, elementsOf(tensor) / pieces),
        b.getStringAttr(plan::temporaryKind), StringAttr(), IntegerAttr(),
        TypeAttr(), IntegerAttr());
  }

  /// Reduces a piece into its place. Runs that are shorter than what the
  /// reduction keeps together come dense and are copied to it.
  void reducePart(OpBuilder &b, Value part, Tiling tiling, int64_t piece,
                  DictionaryAttr row) {
    Location loc = reduction->getLoc();
    int64_t period = tiling.tiles * tiling.chunk;
    if (period == run)
      return createReduction(b, part,
                             tileOfBuffer(b, loc, target(), tiling, piece, {}),
                             tiling.tiles, row);
    Value reduced = createPart(b, target(), tiling.tiles);
    createReduction(b, part, reduced, tiling.tiles, row);
    plan::SliceOp::create(
        b, loc, reduced, tileOfBuffer(b, loc, target(), tiling, piece, {}),
        b.getDenseI64ArrayAttr({}),
        b.getI64IntegerAttr(elementsOf(target()) / period),
        b.getI64IntegerAttr(tiling.chunk), b.getI64IntegerAttr(0),
        DictionaryAttr(), b.getI64IntegerAttr(0), b.getI64IntegerAttr(period));
  }

  /// The collective on one of `pieces` pieces.
  void createReduction(OpBuilder &b, Value part, Value result, int64_t pieces,
                       DictionaryAttr row) {
    Location loc = reduction->getLoc();
    if (auto scatter = dyn_cast<plan::ReduceScatterOp>(reduction)) {
      int64_t pitch = plan::tileOf(result) ? run : 0;
      plan::ReduceScatterOp::create(
          b, loc, part, result, scatter.getAxesAttr(), scatter.getOuterAttr(),
          b.getI64IntegerAttr(run / pieces), scatter.getReductionAttr(), row,
          b.getI64IntegerAttr(0), b.getI64IntegerAttr(pitch));
      return;
    }
    auto reduce = cast<plan::AllReduceOp>(reduction);
    plan::AllReduceOp::create(b, loc, ValueRange{part}, ValueRange{result},
                              reduce.getAxesAttr(), reduce.getReductionAttr(),
                              row, b.getI64IntegerAttr(0));
  }

  Operation *reduction;
  CollectiveKind kind;
  plan::BufferOp source;
  int64_t run;
  plan::MatmulOp matmul;
};

std::optional<ReductionCutter> reductionCutter(Operation *collective) {
  if (auto scatter = dyn_cast<plan::ReduceScatterOp>(collective))
    return ReductionCutter(collective, CollectiveKind::ReduceScatter,
                           scatter.getSource(), scatter.getChunk());
  auto reduce = dyn_cast<plan::AllReduceOp>(collective);
  if (!reduce || reduce.getSources().size() != 1)
    return std::nullopt;
  return ReductionCutter(collective, CollectiveKind::AllReduce,
                         reduce.getSources()[0],
                         elementsOf(reduce.getSources()[0]));
}

/// Ranks that take part.
int64_t groupOf(Operation *collective) {
  auto program = collective->getParentOfType<plan::ProgramOp>();
  int64_t group = 1;
  for (int64_t axis :
       collective->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
    group *= program.getSizes()[axis];
  return group;
}

} // namespace

std::optional<CollectiveCut>
tpsp::chooseCut(Operation *collective, const CostModel &cost, int64_t chunks) {
  if (!collective->hasAttr("axes") || groupOf(collective) == 1)
    return std::nullopt;
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective)) {
    GatherCutter cutter(gather, groupOf(gather));
    return cutter.isPossible() ? std::optional(cutter.choose(cost, chunks))
                               : std::nullopt;
  }
  std::optional<ReductionCutter> cutter = reductionCutter(collective);
  return cutter && cutter->isPossible() ? cutter->choose(cost, chunks)
                                        : std::nullopt;
}

void tpsp::applyCut(Operation *collective, const CollectiveCut &cut,
                    int64_t whole) {
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective))
    return GatherCutter(gather, groupOf(gather)).apply(cut, whole);
  reductionCutter(collective)->apply(cut, whole);
}
