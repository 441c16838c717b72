#include "AttentionSinks.h"

#include "Dialect/Tpsp/Operations/PartBuilder.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

using namespace mlir;
using namespace tpsp;

/// Converts `x` to `type`. Returns `x` if its elements are those of `type`.
static Value converted(OpBuilder &b, Value x, RankedTensorType type) {
  if (typeOf(x).getElementType() == type.getElementType())
    return x;
  return ConvertOp::create(b, x.getLoc(), type, ValueRange{x});
}

/// Converts `x` to the element type of `like`.
static Value convertedTo(OpBuilder &b, Value x, Value like) {
  return converted(b, x, withElement(typeOf(x), typeOf(like).getElementType()));
}

/// The attention without its sink, but with a statistic.
static AttentionOp withoutSink(OpBuilder &b, AttentionOp op) {
  Value q = op.getOperand(0);
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    if (operand != op.getSink())
      operands.push_back(operand);
  RankedTensorType row =
      tensorOver(rowIndices(q, op.getQuery(), op.getFeature()), {typeOf(q)});
  auto plain = AttentionOp::create(
      b, op.getLoc(),
      TypeRange{op.getResult().getType(), withElement(row, statisticType(q))},
      operands, op.getProperties());
  plain->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return plain;
}

void AttentionOp::takeOutSink(OpBuilder &b) {
  if (!getSink())
    return;
  AttentionOp plain = withoutSink(b, *this);
  Value o = plain.getResult(), l = plain.getStatistic();
  PartBuilder parts(b, getLoc());
  Value sink = convertedTo(b, getSink(), l);
  Value above = parts.map<SubOp>(l, {l, sink});
  if (getStatistic()) {
    Value further = parts.map<SoftplusOp>(above, above);
    getStatistic().replaceAllUsesWith(parts.map<AddOp>(l, {further, sink}));
  }
  Value share = parts.map<SigmoidOp>(above, above);
  Value wide = convertedTo(b, o, l);
  Value result = convertedTo(b, parts.mul(wide, wide, share), o);
  // The source's name is that of the result with the sink.
  result.getDefiningOp()->setLoc(getLoc());
  getResult().replaceAllUsesWith(result);
  erase();
}

Value tpsp::sinkGradient(OpBuilder &b, Value sink, Value g, Value o,
                         Value statistic) {
  AdjointBuilder adjoint(b, statistic.getLoc());
  Type element = typeOf(statistic).getElementType();
  auto wide = [&](Value x) {
    return converted(b, x, withElement(withoutPlacement(typeOf(x)), element));
  };
  Value wideO = wide(o), wideSink = wide(sink);
  Value dot = adjoint.sumTo(adjoint.mul(wideO, wide(g), wideO), statistic);
  Value weight =
      adjoint.exp(adjoint.map<SubOp>(statistic, {wideSink, statistic}));
  Value ofRows = adjoint.neg(adjoint.mul(dot, weight, dot));
  return converted(b, adjoint.sumTo(ofRows, wideSink),
                   withoutPlacement(typeOf(sink)));
}
