#include "ProductTiles.h"

#include "Passes/Collectives/Ledger.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Buffers and their tiles
//===----------------------------------------------------------------------===//

int64_t tpsp::elementsOf(Value value) {
  return cast<MemRefType>(value.getType()).getNumElements();
}

int64_t tpsp::dtypeOf(Value value) {
  return plan::runtimeType(cast<MemRefType>(value.getType()).getElementType());
}

MemRefType tpsp::flatType(Value like, int64_t elements) {
  return MemRefType::get({elements},
                         cast<MemRefType>(like.getType()).getElementType());
}

Value tpsp::tileOfBuffer(OpBuilder &b, Location loc, Value buffer,
                         Tiling tiling, int64_t number, ArrayRef<int64_t> axes,
                         TilePart part) {
  return plan::TileOp::create(
      b, loc, flatType(buffer, elementsOf(buffer) / tiling.tiles / part.parts),
      buffer, b.getI64IntegerAttr(tiling.tiles),
      b.getI64IntegerAttr(tiling.chunk), b.getI64IntegerAttr(number),
      b.getDenseI64ArrayAttr(axes), b.getI64IntegerAttr(part.parts),
      b.getI64IntegerAttr(part.part));
}

void BufferUsers::collect(Value value) {
  for (OpOperand &use : value.getUses()) {
    if (auto view = dyn_cast<plan::ViewOp>(use.getOwner()))
      collect(view.getResult());
    else if (auto tile = dyn_cast<plan::TileOp>(use.getOwner()))
      tiles.push_back(tile);
    else
      uses.push_back(&use);
  }
}

bool tpsp::canBeCut(Value tensor) {
  return !plan::tileOf(tensor) &&
         llvm::all_of(BufferUsers(plan::bufferOf(tensor)).tiles,
                      [](plan::TileOp tile) { return tile.getAxes().empty(); });
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

static bool sumsOperand(rt::EpilogueStep step) {
  return step == rt::EpilogueStep::SumA || step == rt::EpilogueStep::SumB;
}

static std::optional<CutStep> cutStep(rt::EpilogueStep step, Value buffer,
                                      const MatmulForm &form,
                                      const MatmulCut &cut) {
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

/// Whether a buffer is not cut yet, or is cut into exactly these tiles.
static bool canBeCutInto(Value buffer, Tiling tiling, ArrayRef<int64_t> axes) {
  BufferUsers users(plan::bufferOf(buffer));
  return !plan::tileOf(buffer) &&
         llvm::all_of(users.tiles, [&](plan::TileOp tile) {
           return int64_t(tile.getTiles()) == tiling.tiles &&
                  int64_t(tile.getChunk()) == tiling.chunk &&
                  tile.getAxes() == axes;
         });
}

std::optional<CutEpilogue> tpsp::cutEpilogue(plan::MatmulOp op,
                                             const MatmulCut &cut,
                                             ArrayRef<int64_t> axes) {
  CutEpilogue result;
  SmallVector<Value> buffers = op.getCallBuffers();
  ArrayRef<Value> next = ArrayRef<Value>(buffers).drop_front(3);
  for (rt::EpilogueStep step : plan::epilogueOf(op)) {
    if (!rt::hasBuffer(step)) {
      result.push_back({step, Value(), std::nullopt});
      continue;
    }
    std::optional<CutStep> part =
        cutStep(step, next.front(), plan::formOf(op), cut);
    next = next.drop_front();
    if (!part)
      return std::nullopt;
    if (part->tiling && !canBeCutInto(part->buffer, *part->tiling, axes))
      return std::nullopt;
    result.push_back(*part);
  }
  return result;
}

void tpsp::createTileProduct(OpBuilder &b, plan::MatmulOp op,
                             MatmulBuffers buffers, const MatmulForm &form,
                             const CutEpilogue &epilogue, bool isFirst,
                             llvm::function_ref<Value(Value, Tiling)> tileOf) {
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
  createMatmul(b, op.getLoc(), buffers, form, steps);
}

PieceRow tpsp::ledgerOfPiece(Operation *collective, int64_t pieces,
                             int64_t whole) {
  PieceRow row = cast<plan::CommandOpInterface>(collective).getLedgerRow();
  return row ? PieceRow::get(row.getContext(),
                             rowOfPiece(row.getRow(), pieces, whole))
             : PieceRow();
}

SmallVector<AxisId> tpsp::axesOf(Operation *collective) {
  return llvm::to_vector_of<AxisId>(
      cast<plan::CommandOpInterface>(collective).getCollectiveAxes());
}

SmallVector<int64_t> tpsp::pieceCounts(int64_t asked) {
  if (asked > 1)
    return {asked};
  return {2, 3, 4, 6, 8};
}
