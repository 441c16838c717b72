#include "MicroBatchViews.h"

#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;
using namespace tpsp::microbatch;

RankedTensorType Cutter::partOf(RankedTensorType type, unsigned dim) const {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] /= division.parts;
  return RankedTensorType::get(shape, type.getElementType(),
                               type.getEncoding());
}

Value Cutter::take(Value whole, unsigned dim, int64_t part) {
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
  return seenAs<MergeOp>(taken, partOf(type, dim));
}

Value Cutter::stack(ArrayRef<Value> values, RankedTensorType type,
                    unsigned dim) {
  Location loc = values.front().getLoc();
  Parts parts = partsOf(type, dim);
  SmallVector<Value> blocks;
  for (Value value : values)
    blocks.push_back(
        seenAs<SplitOp>(value, divided(typeOf(value), dim, parts, false)));
  Value stacked =
      StackOp::create(b, loc, divided(typeOf(values[0]), dim, parts, true),
                      blocks, nameOf(type, dim, "part"));
  return MergeOp::create(b, loc, type, ValueRange{stacked});
}

Cutter::Parts Cutter::partsOf(RankedTensorType whole, unsigned dim) const {
  Parts parts;
  parts.blocks = division.blocks;
  parts.rows = whole.getDimSize(dim) / division.blocks / division.parts;
  parts.hasRows = parts.rows > 1;
  parts.hasBlocks =
      parts.blocks > 1 || !division.axes.empty() || !parts.hasRows;
  return parts;
}

RankedTensorType Cutter::divided(RankedTensorType type, unsigned dim,
                                 const Parts &parts, bool withPart) {
  SmallVector<IndexedDimension> dims;
  auto add = [&](StringRef name, int64_t extent, ArrayAttr axes = {}) {
    dims.push_back({nameOf(type, dim, name), extent, axes});
  };
  // Elsewhere than on the blocks no axis can stay.
  IdxAttr idx = getIdx(type);
  bool placed = !idx.getUnplaced() && idx.getAxes()[dim] == division.axes;
  if (parts.hasBlocks)
    add("block", parts.blocks, placed ? division.axes : ArrayAttr());
  if (withPart)
    add("part", division.parts);
  if (parts.hasRows)
    add("row", parts.rows);
  RankedTensorType result = withDimensions(type, dim, dims);
  return placed ? result : withoutPlacement(result);
}

template <typename View>
Value Cutter::seenAs(Value value, RankedTensorType type) {
  if (typeOf(value).getRank() == type.getRank())
    return RenameOp::create(b, value.getLoc(), type, ValueRange{value});
  return View::create(b, value.getLoc(), type, ValueRange{value});
}
