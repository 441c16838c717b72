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
  return verifyWindow(*this, getWindowAttr()); // (P8)
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

unsigned SegmentMaskOp::getIntegerWidth(unsigned i) {
  return i == 1 || i == 2 ? 32 : 0;
}
unsigned LengthMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 32 : 0; }
int64_t LengthMaskOp::getIntegerBound(unsigned i) {
  return i == 1 ? extentOf(getResult(), getIndex()) + 1 : 0;
}
unsigned LabelMaskOp::getIntegerWidth(unsigned i) { return i == 1 ? 32 : 0; }
bool LabelMaskOp::takesLabels(unsigned i) { return i == 1; }
Linearity LabelMaskOp::getLinearity() { return Linearity::Multi; }
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
  return {getQuery(), getKey()};
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
  Value masked = adjoint.map<CausalMaskOp>(g, g, getQueryAttr(), getKeyAttr(),
                                           b.getF64FloatAttr(0), getTileAttr(),
                                           getWindowAttr());
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

Value CausalMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                               Position position) {
  Scalar x = scalar(b, *this, operands.front());
  Value query = position(getQuery()), key = position(getKey());
  using Predicate = arith::CmpIPredicate;
  Value seen = arith::CmpIOp::create(b, getLoc(), Predicate::sle, key, query);
  if (getWindow()) {
    Value width =
        arith::ConstantIndexOp::create(b, getLoc(), int64_t(*getWindow()));
    Value end = arith::AddIOp::create(b, getLoc(), key, width);
    Value isNear =
        arith::CmpIOp::create(b, getLoc(), Predicate::slt, query, end);
    seen = arith::AndIOp::create(b, getLoc(), seen, isNear);
  }
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
