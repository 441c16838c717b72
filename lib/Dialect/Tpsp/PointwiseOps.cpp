// Pointwise operations: what is computed at every element, and its adjoint.
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult SlopeOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  if (findScalarFunction(getOf())) // (P3)
    return success();
  return emitOpError("of = \"")
         << getOf()
         << "\" is not a scalar function; write the mnemonic of one, such as "
            "\"gelu\"";
}

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

Linearity AddOp::getLinearity() { return Linearity::Joint; }
bool AddOp::isSumOfOperands() { return true; }
Linearity SubOp::getLinearity() { return Linearity::Joint; }
Linearity MulOp::getLinearity() { return Linearity::Multi; }
Linearity ScaleOp::getLinearity() { return Linearity::Joint; }
Linearity BroadcastOp::getLinearity() { return Linearity::Joint; }
Linearity ConvertOp::getLinearity() { return Linearity::Joint; }
bool ConvertOp::mixesPrecision() { return true; }
bool BroadcastOp::introducesIndices() { return true; }
bool BroadcastOp::selects() { return true; }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    if (needed[i])
      gradients[i] = adjoint.sumTo(g, operand);
  return success();
}

LogicalResult SubOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  if (needed[0])
    gradients[0] = adjoint.sumTo(g, getOperand(0));
  if (needed[1])
    gradients[1] = adjoint.sumTo(adjoint.neg(g), getOperand(1));
  return success();
}

LogicalResult MulOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  for (unsigned i = 0; i < 2; ++i) {
    if (!needed[i])
      continue;
    Value operand = getOperand(i), other = getOperand(1 - i);
    bool same = getIdx(operand).getNames() == getIdx(g).getNames();
    gradients[i] = same ? adjoint.mul(operand, g, other)
                        : adjoint.contract({g, other}, operand);
  }
  return success();
}

LogicalResult DivOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  // z = x / y: dx = g / y, dy = -(g z) / y.
  AdjointBuilder adjoint(b, getLoc());
  Value y = getOperand(1);
  Value ratio = adjoint.map<DivOp>(g, {g, y});
  if (needed[0])
    gradients[0] = adjoint.sumTo(ratio, getOperand(0));
  if (needed[1]) {
    Value minus = adjoint.neg(adjoint.mul(g, ratio, getResult()));
    gradients[1] = adjoint.sumTo(minus, y);
  }
  return success();
}

LogicalResult MaxOp::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {
  return emitOpError("has no gradient; use a smooth maximum (tpsp.softmax), or "
                     "keep it off the path from the differentiated arguments");
}

LogicalResult ConvertOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value back = ConvertOp::create(
      b, getLoc(),
      RankedTensorType::get(
          AdjointBuilder::typeOf(g).getShape(),
          AdjointBuilder::typeOf(getOperand(0)).getElementType(),
          AdjointBuilder::unplaced(g).getEncoding()),
      ValueRange{g});
  gradients[0] = adjoint.sumTo(back, getOperand(0));
  return success();
}

LogicalResult BroadcastOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                        Gradients gradients) {
  gradients[0] = AdjointBuilder(b, getLoc()).sumTo(g, getOperand(0));
  return success();
}

LogicalResult ScaleOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value scaled = adjoint.scale(g, getFactor().convertToDouble());
  gradients[0] = adjoint.sumTo(scaled, getOperand(0));
  return success();
}

LogicalResult ShiftOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  gradients[0] = AdjointBuilder(b, getLoc()).sumTo(g, getOperand(0));
  return success();
}

LogicalResult SlopeOp::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {
  return emitOpError("has no gradient: tpsp differentiates once; keep it off "
                     "the path from the differentiated arguments");
}

LogicalResult CausalMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                         Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value masked = adjoint.map<CausalMaskOp>(g, g, getQueryAttr(), getKeyAttr(),
                                           b.getF64FloatAttr(0), getTileAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value AddOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar sum = scalar(b, *this, operands.front());
  for (Value summand : operands.drop_front())
    sum = sum + scalar(b, *this, summand);
  return sum.get();
}

Value SubOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) - scalar(b, *this, operands[1])).get();
}

Value MulOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) * scalar(b, *this, operands[1])).get();
}

Value DivOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return (scalar(b, *this, operands[0]) / scalar(b, *this, operands[1])).get();
}

Value MaxOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  return arith::MaximumFOp::create(b, getLoc(), operands[0], operands[1]);
}

ScalarFormula AddOp::getScalarFormula() { return {ScalarFormula::Sum}; }
ScalarFormula MulOp::getScalarFormula() { return {ScalarFormula::Product}; }
ScalarFormula ConvertOp::getScalarFormula() { return {ScalarFormula::Sum}; }
ScalarFormula BroadcastOp::getScalarFormula() { return {ScalarFormula::Sum}; }
ScalarFormula SlopeOp::getScalarFormula() {
  return {ScalarFormula::Slope, getOf()};
}

/// Arithmetic is wide whatever the storage.
Value ConvertOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}

Value BroadcastOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}

Value ScaleOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return (x * x.constant(getFactor().convertToDouble())).get();
}

Value ShiftOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return (x + x.constant(getBy().convertToDouble())).get();
}

Value SlopeOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  return findScalarFunction(getOf())->slope(x).get();
}

Value CausalMaskOp::emitScalar(OpBuilder &b, ValueRange operands,
                               Position position) {
  Scalar x = scalar(b, *this, operands.front());
  Value seen = arith::CmpIOp::create(b, getLoc(), arith::CmpIPredicate::sle,
                                     position(getKey()), position(getQuery()));
  return arith::SelectOp::create(b, getLoc(), seen, x.get(),
                                 x.constant(getFill().convertToDouble()).get());
}

SmallVector<StringRef> CausalMaskOp::getPositionIndices() {
  return {getQuery(), getKey()};
}

TileAttr CausalMaskOp::getTileOf(StringRef index) {
  return tileAlong(getTile(), index);
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void TpspDialect::registerPointwiseOps() {
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/PointwiseOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/PointwiseOps.cpp.inc"
