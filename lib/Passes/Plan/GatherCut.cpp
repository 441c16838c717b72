// all_gather -> matmul
#include "CollectiveCuts.h"
#include "ProductTiles.h"
#include "SegmentPrograms.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

namespace {

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
      products += secondsOf(cost, consumer, plan::formOf(consumer.matmul));
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
    // Readers of an argument want its value from before the update.
    if (buffer.getUpdatedBy())
      return;
    BufferUsers users(buffer);
    // A rank's own tile of a buffer with other tiles could overlap them.
    if (users.hasTiles())
      return;
    needsWhole = buffer.getKind() != BufferKind::Temporary || isShared(buffer);
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
    // The use must be a factor, not a tensor of the epilogue.
    if (!matmul || use.getOperandNumber() > 1 ||
        plan::bufferOf(matmul.getA()) == plan::bufferOf(matmul.getB()))
      return std::nullopt;
    MatmulTensor operand =
        use.getOperandNumber() == 0 ? MatmulTensor::A : MatmulTensor::B;
    std::optional<MatmulCut> cut =
        cutMatmul(plan::formOf(matmul), operand, tiling);
    if (!cut)
      return std::nullopt;
    // The other tensors that the cut divides must not be cut already.
    Value tensors[] = {matmul.getA(), matmul.getB(), matmul.getC()};
    for (auto [tensor, part] : llvm::zip_equal(tensors, cut->tilings))
      if (part && (plan::tileOf(tensor) ||
                   BufferUsers(plan::bufferOf(tensor)).hasTiles()))
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

  /// The product of one of `parts` parts of a tile; nullopt if the parts of a
  /// tile do not match the cut.
  std::optional<MatmulCut> partOf(const CutConsumer &consumer,
                                  int64_t parts) const {
    if (parts == 1)
      return consumer.cut;
    if (tiling.chunk % parts != 0)
      return std::nullopt;
    std::optional<MatmulCut> cut =
        cutMatmul(plan::formOf(consumer.matmul), consumer.operand,
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

  /// Seconds of the own tile's products, then of the parts' as they arrive.
  /// nullopt if tiles cannot be cut so.
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

  /// Creates the own tile's product, then those of the other tiles, part by
  /// part. The ring delivers the previous rank's tile first.
  void cutConsumer(CutConsumer &consumer, int64_t parts) {
    PieceBuilder b(consumer.matmul);
    createOwnProduct(b, consumer);
    MatmulCut cut = *partOf(consumer, parts);
    for (int64_t hop = 1; hop < group; ++hop)
      for (int64_t part = 0; part < parts; ++part)
        createTile(b, consumer, group - hop, TilePart{parts, part}, cut.form,
                   tilesOf(b, consumer, group - hop, TilePart{parts, part}));
    consumer.matmul.erase();
  }

  /// The own tile is read from the gather's source.
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

  /// The tiles of A, B and C for a part of a tile's product.
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
    PieceBuilder b(gather);
    PieceRow row = ledgerOfPiece(gather, (group - 1) * parts, whole);
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

  /// Sends from each rank to the next. `isOwn`: the source is the rank's own
  /// shard.
  void passOn(OpBuilder &b, Value source, Value target, bool isOwn,
              PieceRow row) {
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

  /// Copies the own tile to its place among the others.
  void copyOwn(OpBuilder &b) {
    Location loc = gather.getLoc();
    plan::SliceOp::create(
        b, loc, gather.getSource(),
        tileOfBuffer(b, loc, buffer.getResult(), tiling, 0, axes()),
        b.getDenseI64ArrayAttr({}), gather.getOuterAttr(),
        gather.getChunkAttr(), b.getI64IntegerAttr(0), PieceRow(),
        b.getI64IntegerAttr(0), b.getI64IntegerAttr(tiling.chunk * group));
  }

  plan::AllGatherOp gather;
  plan::BufferOp buffer;
  int64_t group;
  Tiling tiling;
  std::vector<CutConsumer> consumers;
  /// Whether other commands read the gathered tensor.
  bool needsWhole = false;
};

} // namespace

std::optional<CollectiveCut> tpsp::chooseGatherCut(plan::AllGatherOp gather,
                                                   int64_t group,
                                                   const CostModel &cost,
                                                   int64_t chunks) {
  GatherCutter cutter(gather, group);
  if (!cutter.isPossible())
    return std::nullopt;
  return cutter.choose(cost, chunks);
}

void tpsp::applyGatherCut(plan::AllGatherOp gather, int64_t group,
                          const CollectiveCut &cut, int64_t whole) {
  GatherCutter(gather, group).apply(cut, whole);
}
