#include "MicroBatchViews.h"

#include "tpsp/Dialect/Tpsp/BlockOps.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

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
  return gathered(taken, partOf(type, dim));
}

Value Cutter::stack(ArrayRef<Value> values, RankedTensorType type,
                    unsigned dim) {
  Location loc = values.front().getLoc();
  Parts parts = partsOf(type, dim);
  SmallVector<Value> blocks;
  for (Value value : values)
    blocks.push_back(opened(value, divided(typeOf(value), dim, parts, false)));
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

RankedTensorType Cutter::replaced(RankedTensorType type, unsigned dim,
                                  ArrayRef<StringAttr> names,
                                  ArrayRef<ArrayAttr> axes,
                                  ArrayRef<int64_t> extents, bool placed) {
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

Value Cutter::gathered(Value value, RankedTensorType type) {
  if (typeOf(value).getRank() == type.getRank())
    return RenameOp::create(b, value.getLoc(), type, ValueRange{value});
  return MergeOp::create(b, value.getLoc(), type, ValueRange{value});
}

Value Cutter::opened(Value value, RankedTensorType type) {
  if (typeOf(value).getRank() == type.getRank())
    return RenameOp::create(b, value.getLoc(), type, ValueRange{value});
  return SplitOp::create(b, value.getLoc(), type, ValueRange{value});
}
