// matmul -> reduce_scatter, matmul -> all_reduce
#include "CollectiveCuts.h"
#include "ProductTiles.h"
#include "SegmentPrograms.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

namespace {

class ReductionCutter {
public:
  /// `source` is the reduced tensor, seen as rows of `run` elements that the
  /// reduction keeps together. Chunks are parts of a row.
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
      // Copies also take memory, which this estimate ignores.
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
    PieceBuilder b(matmul);
    PieceRow row = ledgerOfPiece(reduction, chosen.pieces, whole);
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
  /// Finds the product that computes the reduced tensor, if it is the only
  /// writer, and the reduction the only reader.
  void findProduct() {
    BufferUsers users(source);
    if (source.getKind() != BufferKind::Temporary || isShared(source) ||
        users.hasTiles() || users.uses.size() != 2)
      return;
    for (OpOperand *use : users.uses)
      if (auto product = dyn_cast<plan::MatmulOp>(use->getOwner()))
        if (use->getOperandNumber() == 2)
          matmul = product;
  }

  /// How many elements can be distributed over the pieces. For pieces of rows
  /// it is all that the reduction keeps together; for pieces of columns it is a
  /// row of the product. Rows need no copy, but products of few rows may be
  /// slower.
  SmallVector<int64_t> periods() {
    int64_t row = matmul.getLeading()[2];
    if (row < run && run % row == 0)
      return {run, row};
    return {run};
  }

  std::optional<MatmulCut> cutInto(int64_t pieces, int64_t period) {
    if (period % pieces != 0)
      return std::nullopt;
    std::optional<MatmulCut> cut = cutMatmul(
        plan::formOf(matmul), MatmulTensor::C, {pieces, period / pieces});
    if (!cut)
      return std::nullopt;
    Value tensors[] = {matmul.getA(), matmul.getB()};
    for (auto [i, tensor] : llvm::enumerate(tensors))
      if (cut->tilings[i] && !canBeCut(tensor))
        return std::nullopt;
    // C's pieces are separate buffers, in which a matrix of the epilogue would
    // be laid out differently.
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

  /// Creates a separate buffer for one of the pieces of a tensor.
  Value createPart(OpBuilder &b, Value tensor, int64_t pieces) {
    auto part = plan::BufferOp::create(
        b, matmul.getLoc(), flatType(tensor, elementsOf(tensor) / pieces),
        BufferKind::Temporary);
    part.setForGradient(plan::bufferOf(tensor).getForGradient());
    return part;
  }

  /// Reduces a piece into its place. Runs that are shorter than what the
  /// reduction keeps together are reduced densely, then copied to their place.
  void reducePart(OpBuilder &b, Value part, Tiling tiling, int64_t piece,
                  PieceRow row) {
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
        b.getI64IntegerAttr(tiling.chunk), b.getI64IntegerAttr(0), PieceRow(),
        b.getI64IntegerAttr(0), b.getI64IntegerAttr(period));
  }

  /// Creates the collective on one of `pieces` pieces.
  void createReduction(OpBuilder &b, Value part, Value result, int64_t pieces,
                       PieceRow row) {
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
  if (auto scatter = dyn_cast<plan::ReduceScatterOp>(collective)) {
    if (!scatter.isSingle())
      return std::nullopt;
    return ReductionCutter(collective, CollectiveKind::ReduceScatter,
                           scatter.getSource(), scatter.getChunk());
  }
  auto reduce = dyn_cast<plan::AllReduceOp>(collective);
  if (!reduce || reduce.getSources().size() != 1)
    return std::nullopt;
  return ReductionCutter(collective, CollectiveKind::AllReduce,
                         reduce.getSources()[0],
                         elementsOf(reduce.getSources()[0]));
}

} // namespace

std::optional<CollectiveCut> tpsp::chooseReductionCut(Operation *collective,
                                                      const CostModel &cost,
                                                      int64_t chunks) {
  std::optional<ReductionCutter> cutter = reductionCutter(collective);
  if (!cutter || !cutter->isPossible())
    return std::nullopt;
  return cutter->choose(cost, chunks);
}

void tpsp::applyReductionCut(Operation *collective, const CollectiveCut &cut,
                             int64_t whole) {
  reductionCutter(collective)->apply(cut, whole);
}
