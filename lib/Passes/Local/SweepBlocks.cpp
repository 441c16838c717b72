#include "SweepBlocks.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

RankedTensorType tpsp::blockType(RankedTensorType type, StringRef index,
                                 int64_t extent) {
  IdxAttr idx = getIdx(type);
  unsigned dim = *idx.dimOf(index);
  return withDimensions(type, dim, {{idx.getNames()[dim], extent}});
}

/// `type` with `index` seen as (`major`, index), each of an extent.
static RankedTensorType splitType(RankedTensorType type, StringRef index,
                                  StringAttr major, int64_t blocks) {
  IdxAttr idx = getIdx(type);
  unsigned dim = *idx.dimOf(index);
  // The name must differ from the whole index's for a split.
  auto within = StringAttr::get(type.getContext(), index + ".in");
  return withDimensions(
      type, dim,
      {{major, blocks},
       {within, type.getDimSize(dim) / blocks, idx.getAxes()[dim]}});
}

static RankedTensorType withoutIndex(RankedTensorType type, StringRef index) {
  return tensorOver(indexNamesBut(type, index), {type});
}

static StringAttr majorName(OpBuilder &b, StringRef index) {
  return b.getStringAttr(index + ".block");
}

Value tpsp::partOf(OpBuilder &b, Value tile, StringRef index, int64_t parts,
                   int64_t at) {
  if (parts == 1)
    return tile;
  Location loc = tile.getLoc();
  RankedTensorType split =
      splitType(typeOf(tile), index, majorName(b, index), parts);
  Value seen = SplitOp::create(b, loc, split, tile);
  Value taken = TakeOp::create(b, loc, withoutIndex(split, majorName(b, index)),
                               ValueRange{seen}, majorName(b, index),
                               b.getI64IntegerAttr(at));
  return RenameOp::create(
      b, loc, blockType(typeOf(tile), index, extentOf(tile, index) / parts),
      taken);
}

Value tpsp::joined(OpBuilder &b, ArrayRef<Value> parts, RankedTensorType type,
                   StringRef index) {
  if (parts.size() == 1)
    return parts.front();
  Location loc = parts.front().getLoc();
  RankedTensorType split =
      splitType(type, index, majorName(b, index), parts.size());
  SmallVector<Value> blocks;
  for (Value part : parts)
    blocks.push_back(RenameOp::create(
        b, loc, withoutIndex(split, majorName(b, index)), part));
  Value stacked = StackOp::create(b, loc, split, blocks, majorName(b, index));
  return MergeOp::create(b, loc, type, stacked);
}
