// The constraints of attention and its parts.
#include "VerifierRules.h"

#include "tpsp/Dialect/Tpsp/AttentionOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// (A1), (A3), (A4) of queries and keys.
template <typename Op> static LogicalResult verifyScores(Op op) {
  Value q = op.getOperand(0), k = op.getOperand(1);
  if (failed(verifyHasIndex(op, 0, op.getQuery(), "query")) ||
      failed(verifyHasIndex(op, 0, op.getFeature(), "feature")) ||
      failed(verifyHasIndex(op, 1, op.getKey(), "key")) ||
      failed(verifyHasIndex(op, 1, op.getFeature(), "feature")) ||
      failed(verifyLacksIndex(op, q, op.getKey(), "the query operand")) ||
      failed(verifyLacksIndex(op, k, op.getQuery(), "the key operand")))
    return failure();
  for (StringRef name : indexNames(k.getType()))
    if (name != op.getKey() && !getIdx(q).dimOf(name))
      return op.emitOpError("the key operand has index '")
             << name << "', which the query operand lacks; remove it, or split "
             << "the query's (tpsp.split)";
  if (failed(verifyScale(op, op.getScale())))
    return failure();
  if (op.getDropout() && !(op.getDropout()->convertToDouble() >= 0 &&
                           op.getDropout()->convertToDouble() < 1))
    return op.emitOpError("dropout ") << op.getDropout()->convertToDouble()
                                      << " is not a probability below 1";
  return success();
}

/// (A1), (A3) of values, whose own feature `result` has.
template <typename Op> static LogicalResult verifyValues(Op op, Value result) {
  Value q = op.getOperand(0), v = op.getOperand(2);
  if (failed(verifyHasIndex(op, 2, op.getKey(), "key")) ||
      failed(verifyLacksIndex(op, v, op.getQuery(), "the value operand")))
    return failure();
  StringRef ownFeature;
  for (StringRef name : indexNames(v.getType())) {
    if (name == op.getKey() || getIdx(q).dimOf(name))
      continue;
    if (!ownFeature.empty() || !getIdx(result).dimOf(name))
      return op.emitOpError("the value operand has index '")
             << name << "', which the query operand lacks and which is not its "
             << "one feature in the result; remove it";
    ownFeature = name;
  }
  return success();
}

/// (A2) of an operand of which `summed` alone is summed over.
static LogicalResult verifyNotSummed(AttentionOp op, unsigned operand,
                                     StringRef summed, StringRef what) {
  for (StringRef name : indexNames(op->getOperand(operand).getType()))
    if (name != summed && !getIdx(op.getResult()).dimOf(name))
      return op.emitOpError("the result lacks index '")
             << name << "' of " << what
             << "; attention sums over keys alone, so sum the result after it "
                "(tpsp.reduce)";
  return success();
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyCount(*this, 3, 3)) || failed(verifyScores(*this)) ||
      failed(verifyLacksIndex(*this, getResult(), getKey(), "the result")))
    return failure();
  if (!getIdx(getResult()).dimOf(getQuery())) // (A2)
    return emitOpError("the result lacks the query index '")
           << getQuery() << "'";
  if (failed(verifyNotSummed(*this, 0, getFeature(), "the queries")) ||
      failed(verifyValues(*this, getResult())))
    return failure();
  return verifyNotSummed(*this, 2, getKey(), "the values");
}

LogicalResult AttentionStatisticOp::verify() {
  if (failed(verifyCount(*this, 2, 2)) || failed(verifyScores(*this)) ||
      failed(verifyLacksIndex(*this, getResult(), getKey(), "the result")) ||
      failed(verifyLacksIndex(*this, getResult(), getFeature(), "the result")))
    return failure();
  if (getIdx(getResult()).dimOf(getQuery())) // (A5)
    return success();
  return emitOpError("the result lacks the query index '") << getQuery() << "'";
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyCount(*this, 6, 6)) || failed(verifyScores(*this)) ||
      failed(verifyValues(*this, getOperand(4))))
    return failure();
  if (getOf() > 2) // (A6)
    return emitOpError("of = ")
           << getOf() << "; it is 0 (queries), 1 (keys) or 2 (values)";
  Value g = getOperand(4), o = getOperand(5);
  if (getIdx(g).getNames() != getIdx(o).getNames())
    return emitOpError("operand #5 is attention's result, and has the indices "
                       "of its gradient, [")
           << subscripts(g.getType()) << "], not [" << subscripts(o.getType())
           << "]";
  if (getIdx(getOperand(getOf())).getNames() == getIdx(getResult()).getNames())
    return success();
  return emitOpError("has result indices [")
         << subscripts(getResult().getType())
         << "], but they must be those of operand #" << getOf() << ", ["
         << subscripts(getOperand(getOf()).getType()) << "]";
}
