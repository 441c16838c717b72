#include "SweepBlocks.h"

#include "tpsp/Dialect/Tpsp/BlockOps.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

RankedTensorType tpsp::blockType(RankedTensorType type, StringRef index,
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
static RankedTensorType splitType(RankedTensorType type, StringRef index,
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
