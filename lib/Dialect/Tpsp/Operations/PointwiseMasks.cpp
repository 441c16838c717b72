// The masks among the pointwise operations.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "PartBuilder.h"
#include "ScalarOf.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult CausalMaskOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  IntegerAttr chunk = getChunkAttr(); // (P8)
  if (chunk && (chunk.getInt() < 1 || getShard()))
    return emitOpError("chunk = ")
           << chunk.getInt()
           << (getShard() ? ", whose positions `shard` does not have"
                          : ", but a chunk is at least 1");
  return verifyWindow(*this, getWindowAttr());
}

/// (P9). On one rank's shapes the end may lie in another rank's shard.
LogicalResult EndMaskOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  RankedTensorType type = getResult().getType();
  int64_t extent = extentOf(type, getIndex()), end = int64_t(getEnd());
  if (end >= 1 && (end <= extent || getIdx(type).getLocal()))
    return success();
  return emitOpError("ends index '")
         << getIndex() << "' at " << end << "; it has " << extent
         << " positions, so give a number from 1 to that";
}

LogicalResult LengthMaskOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  if (!getIdx(getOperand(1)).dimOf(getIndex())) // (P10)
    return success();
  return emitOpError("has lengths of index '")
         << getIndex() << "' for every position of it; give one for all of "
         << "them";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

void CausalMaskOp::build(OpBuilder &b, OperationState &state, Type type,
                         ValueRange inputs, StringAttr query, StringAttr key,
                         FloatAttr fill, TileAttr tile,
                         const PositionMask &mask, StringAttr shard) {
  state.addTypes(type);
  state.addOperands(inputs);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.setQuery(query);
  properties.setKey(key);
  properties.setFill(fill);
  properties.setTile(tile);
  properties.setShard(shard);
  setOptions<CausalMaskOp>(b, mask, properties);
}

unsigned SegmentMaskOp::getIntegerWidth(unsigned i) {
  return i == 1 || i == 2 ? 32 : 0;
}
unsigned LengthMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 32 : 0; }
int64_t LengthMaskOp::getIntegerBound(unsigned i) {
  return i == 1 ? extentOf(getResult(), getIndex()) + 1 : 0;
}
unsigned LabelMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 32 : 0; }
bool LabelMaskOp::takesLabels(unsigned i) { return i == 1; }
/// May be called before the attribute is verified.
Linearity EndMaskOp::getLinearity() {
  FloatAttr fill = getFillAttr();
  return fill && fill.getValue().isZero() ? Linearity::Joint : Linearity::None;
}

SmallVector<StringRef> EndMaskOp::getPositionIndices() { return {getIndex()}; }
SmallVector<StringRef> LengthMaskOp::getPositionIndices() {
  return {getIndex()};
}
SmallVector<StringRef> CausalMaskOp::getPositionIndices() {
  SmallVector<StringRef> names = {getQuery(), getKey()};
  if (getShard())
    names.push_back(*getShard());
  return names;
}
TileAttr CausalMaskOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}
TileAttr LengthMaskOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult CausalMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                         Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked = adjoint.map<CausalMaskOp>(
      g, g, getQueryAttr(), getKeyAttr(), b.getF64FloatAttr(0), getTileAttr(),
      optionsOf<PositionMask>(*this), getShardAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

LogicalResult SegmentMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                          Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked = adjoint.map<SegmentMaskOp>(
      g, {g, getOperand(1), getOperand(2)}, b.getF64FloatAttr(0));
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

LogicalResult EndMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked = adjoint.map<EndMaskOp>(g, g, getIndexAttr(), getEndAttr(),
                                        b.getF64FloatAttr(0));
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

LogicalResult LengthMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                         Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked =
      adjoint.map<LengthMaskOp>(g, {g, getOperand(1)}, getIndexAttr(),
                                b.getF64FloatAttr(0), getTileAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

LogicalResult LabelMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                        Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked = adjoint.map<LabelMaskOp>(g, {g, getOperand(1)});
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

namespace {

/// Conditions on positions.
struct PositionBuilder {
  OpBuilder &b;
  Location loc;

  Value number(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }
  Value plus(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  /// The first position of the chunk of `x`.
  Value startOfChunk(Value x, int64_t chunk) {
    Value within = arith::RemUIOp::create(b, loc, x, number(chunk));
    return arith::SubIOp::create(b, loc, x, within);
  }
  Value times(Value x, Value y) { return arith::MulIOp::create(b, loc, x, y); }
  Value isBefore(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, x, y);
  }
  Value isNotAfter(Value x, Value y) {
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sle, x, y);
  }
  /// Both conditions; a null one holds.
  Value both(Value x, Value y) {
    return x ? Value(arith::AndIOp::create(b, loc, x, y)) : y;
  }
};

} // namespace

Value CausalMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                               Position position) {
  PositionBuilder at{b, getLoc()};
  Value query = position(getQuery()), key = position(getKey()), seen;
  if (getShard()) {
    int64_t rows = extentOf(getResult(), getQuery());
    int64_t keys =
        getTile() ? getTile()->getExtent() : extentOf(getResult(), getKey());
    Value before = at.number(keys - rows);
    Value start = at.times(position(*getShard()), at.number(rows));
    query = at.plus(query, before);
    seen = at.isNotAfter(before, at.plus(start, key));
  }
  seen = at.both(seen, at.isNotAfter(key, query));
  if (getWindow()) {
    Value end = at.plus(key, at.number(int64_t(*getWindow())));
    seen = at.both(seen, at.isBefore(query, end));
  }
  if (getChunk()) {
    Value start = at.startOfChunk(query, int64_t(*getChunk()));
    seen = at.both(seen, at.isNotAfter(start, key));
  }
  Scalar x = scalar(b, *this, operands.front());
  return arith::SelectOp::create(b, getLoc(), seen, x.get(),
                                 x.constant(getFill().convertToDouble()).get());
}

Value SegmentMaskOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  Value same = arith::CmpIOp::create(b, getLoc(), arith::CmpIPredicate::eq,
                                     operands[1], operands[2]);
  return arith::SelectOp::create(b, getLoc(), same, x.get(),
                                 x.constant(getFill().convertToDouble()).get());
}

/// `x` where `position` is before `end`, else `fill`.
static Value scalarBefore(Operation *op, Scalar x, Value position, Value end,
                          const APFloat &fill, OpBuilder &b) {
  Value isBefore = arith::CmpIOp::create(
      b, op->getLoc(), arith::CmpIPredicate::slt, position, end);
  return arith::SelectOp::create(b, op->getLoc(), isBefore, x.get(),
                                 x.constant(fill.convertToDouble()).get());
}

Value EndMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                            Position position) {
  Value end = arith::ConstantIndexOp::create(b, getLoc(), int64_t(getEnd()));
  return scalarBefore(*this, scalar(b, *this, operands.front()),
                      position(getIndex()), end, getFill(), b);
}

Value LengthMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                               Position position) {
  Value length =
      arith::IndexCastOp::create(b, getLoc(), b.getIndexType(), operands[1]);
  return scalarBefore(*this, scalar(b, *this, operands.front()),
                      position(getIndex()), length, getFill(), b);
}

Value LabelMaskOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Location loc = getLoc();
  Scalar x = scalar(b, *this, operands.front());
  Value zero = arith::ConstantIntOp::create(b, loc, b.getI32Type(), 0);
  Value counts = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge,
                                       operands[1], zero);
  return arith::SelectOp::create(b, loc, counts, x.get(), x.constant(0).get());
}
