// Pointwise operations: the scalar of every element, and its adjoint.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "HiddenKeys.h"
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

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

/// The comparison of kernels for a value of CompareOp's `is`; nullopt for other
/// names.
static std::optional<arith::CmpFPredicate> findRelation(StringRef name) {
  return llvm::StringSwitch<std::optional<arith::CmpFPredicate>>(name)
      .Case("less", arith::CmpFPredicate::OLT)
      .Case("less_equal", arith::CmpFPredicate::OLE)
      .Case("equal", arith::CmpFPredicate::OEQ)
      .Case("not_equal", arith::CmpFPredicate::UNE)
      .Case("greater", arith::CmpFPredicate::OGT)
      .Case("greater_equal", arith::CmpFPredicate::OGE)
      .Default(std::nullopt);
}

LogicalResult CompareOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  if (findRelation(getIs())) // (P6)
    return success();
  return emitOpError("is = \"")
         << getIs()
         << "\" is no relation; there are less, less_equal, equal, not_equal, "
            "greater and greater_equal";
}

/// (P7)
LogicalResult ClampOp::verify() {
  if (failed(verifyPointwise(*this, arity)))
    return failure();
  if (!getLow() && !getHigh())
    return emitOpError("bounds nothing; give `low`, `high` or both");
  for (std::optional<APFloat> bound : {getLow(), getHigh()})
    if (bound && !bound->isFinite())
      return emitOpError("a bound of ")
             << bound->convertToDouble()
             << " bounds nothing; give a finite number, or leave it out";
  if (!getLow() || !getHigh() ||
      getLow()->convertToDouble() <= getHigh()->convertToDouble())
    return success();
  return emitOpError("low = ")
         << getLow()->convertToDouble()
         << " is above high = " << getHigh()->convertToDouble()
         << "; no number is between them";
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// `g` in the precision of `like`.
static Value inPrecisionOf(OpBuilder &b, Location loc, Value g, Value like) {
  RankedTensorType type = AdjointBuilder::unplaced(g);
  Type element = typeOf(like).getElementType();
  if (type.getElementType() == element)
    return g;
  return ConvertOp::create(b, loc, withElement(type, element), ValueRange{g});
}

LogicalResult AddOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    if (needed[i])
      gradients[i] =
          adjoint.sumTo(inPrecisionOf(b, getLoc(), g, operand), operand);
  return success();
}

LogicalResult AddBiasOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                      Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value bias = getOperand(1);
  Value hidden = adjoint.map<ConstantOp>(bias, ValueRange{},
                                         b.getF64FloatAttr(hiddenScore));
  Value isSeen = adjoint.map<CompareOp>(bias, {bias, hidden},
                                        b.getStringAttr("not_equal"));
  Value none =
      adjoint.map<CompareOp>(bias, {bias, bias}, b.getStringAttr("less"));
  Value kept = adjoint.map<SelectOp>(g, {isSeen, g, none});
  for (unsigned i : {0, 1})
    if (needed[i])
      gradients[i] = adjoint.sumTo(kept, getOperand(i));
  return success();
}

unsigned SelectOp::getIntegerWidth(unsigned i) {
  return i > 0 && getNumOperands() > 1 ? integerWidth(getOperand(1)) : 0;
}

LogicalResult SelectOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                     Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value condition = getOperand(0);
  // Nothing is less than itself, not even a NaN.
  Value none = adjoint.map<CompareOp>(condition, {condition, condition},
                                      b.getStringAttr("less"));
  if (needed[1])
    gradients[1] = adjoint.sumTo(adjoint.map<SelectOp>(g, {condition, g, none}),
                                 getOperand(1));
  if (needed[2])
    gradients[2] = adjoint.sumTo(adjoint.map<SelectOp>(g, {condition, none, g}),
                                 getOperand(2));
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

LogicalResult MaxOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  Value x = getOperand(0), y = getOperand(1);
  auto givenWhere = [&](Value operand, Value larger, Value other,
                        StringRef relation) {
    Value isLarger =
        adjoint.map<CompareOp>(g, {larger, other}, b.getStringAttr(relation));
    Value zero = adjoint.scale(g, 0);
    return adjoint.sumTo(adjoint.map<SelectOp>(g, {isLarger, g, zero}),
                         operand);
  };
  if (needed[0])
    gradients[0] = givenWhere(x, x, y, "greater_equal");
  if (needed[1])
    gradients[1] = givenWhere(y, y, x, "greater");
  return success();
}

LogicalResult ClampOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  // Differences decide whether x is beyond a bound, and not the result: the
  // bound, rounded, may equal x.
  AdjointBuilder adjoint(b, getLoc());
  Value x = getOperand(0), zero = adjoint.scale(g, 0), kept = g;
  auto dropBeyond = [&](Value outward, double by) {
    Value beyond =
        adjoint.map<ShiftOp>(outward, outward, b.getF64FloatAttr(by));
    Value isBeyond =
        adjoint.map<SlopeOp>(beyond, beyond, b.getStringAttr("relu"));
    kept = adjoint.map<SelectOp>(g, {isBeyond, zero, kept});
  };
  if (getLow())
    dropBeyond(adjoint.neg(x), getLow()->convertToDouble());
  if (getHigh())
    dropBeyond(x, -getHigh()->convertToDouble());
  gradients[0] = adjoint.sumTo(kept, x);
  return success();
}

LogicalResult ConvertOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  Value back = inPrecisionOf(b, getLoc(), g, getOperand(0));
  gradients[0] = AdjointBuilder(b, getLoc()).sumTo(back, getOperand(0));
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

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// In 64 bits if any operand is.
Value AddOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  auto isWide = [](Value x) { return x.getType().isF64(); };
  auto wide = [&](Value x) {
    if (isWide(x) || llvm::none_of(operands, isWide))
      return scalar(b, *this, x);
    return scalar(b, *this,
                  arith::ExtFOp::create(b, getLoc(), b.getF64Type(), x));
  };
  Scalar sum = wide(operands.front());
  for (Value summand : operands.drop_front())
    sum = sum + wide(summand);
  return sum.get();
}

Value AddBiasOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands[0]),
         bias = scalar(b, *this, operands[1]);
  Scalar hidden = x.constant(hiddenScore);
  Scalar lowest =
      x.constant(lowestNumber(getResult().getType().getElementType()));
  Value isSeen = arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::UNE,
                                       bias.get(), hidden.get());
  Value sum =
      arith::MaximumFOp::create(b, getLoc(), (x + bias).get(), lowest.get());
  return arith::SelectOp::create(b, getLoc(), isSeen, sum, hidden.get());
}

Value CompareOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands[0]);
  Value holds = arith::CmpFOp::create(b, getLoc(), *findRelation(getIs()),
                                      operands[0], operands[1]);
  return arith::SelectOp::create(b, getLoc(), holds, x.constant(1).get(),
                                 x.constant(0).get());
}

Value SelectOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar condition = scalar(b, *this, operands[0]);
  Value holds =
      arith::CmpFOp::create(b, getLoc(), arith::CmpFPredicate::UNE,
                            condition.get(), condition.constant(0).get());
  return arith::SelectOp::create(b, getLoc(), holds, operands[1], operands[2]);
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

/// Arithmetic is wide whatever the storage type.
Value ConvertOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}

/// The number that a micro-batch adds to the sum.
Value AccumulateOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
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

/// The type that kernels compute in.
static FloatType arithmeticType(Value result) {
  Type element = typeOf(result).getElementType();
  return element.isF64() ? cast<FloatType>(element)
                         : FloatType(Float32Type::get(result.getContext()));
}

Value ConstantOp::emitScalar(OpBuilder &b, ValueRange, Position) {
  FloatType type = arithmeticType(getResult());
  return arith::ConstantOp::create(
      b, getLoc(), b.getFloatAttr(type, getValue().convertToDouble()));
}

Value IotaOp::emitScalar(OpBuilder &b, ValueRange, Position position) {
  Value at = arith::IndexCastOp::create(b, getLoc(), b.getI64Type(),
                                        position(getIndex()));
  return arith::SIToFPOp::create(b, getLoc(), arithmeticType(getResult()), at);
}

SmallVector<StringRef> IotaOp::getPositionIndices() { return {getIndex()}; }

Value ClampOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Scalar x = scalar(b, *this, operands.front());
  Value result = x.get();
  if (getLow())
    result = arith::MaximumFOp::create(
        b, getLoc(), result, x.constant(getLow()->convertToDouble()).get());
  if (getHigh())
    result = arith::MinimumFOp::create(
        b, getLoc(), result, x.constant(getHigh()->convertToDouble()).get());
  return result;
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.cpp.inc"
