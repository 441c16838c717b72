// Operations that need an index unsharded: softmax, norms, rotary embeddings.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "HiddenKeys.h"
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// (S3)
static LogicalResult verifySink(SoftmaxOp op) {
  Value sink = op.getSink();
  if (!sink)
    return success();
  for (StringRef name : indexNames(sink.getType()))
    if (name == op.getOver() || !getIdx(op.getOperand(0)).dimOf(name))
      return op.emitOpError("the sink has index '")
             << name << "', which is none of ["
             << llvm::join(
                    indexNamesBut(op.getOperand(0).getType(), op.getOver()),
                    ", ")
             << "]; take one position of it (tpsp.take), or rename it "
                "(tpsp.rename)";
  return success();
}

/// (S1), (S2)
LogicalResult SoftmaxOp::verify() {
  if (failed(verifyCount(*this, 1, 2)) || failed(verifySameNames(*this)) ||
      failed(verifyHasIndex(*this, 0, getOver(), "over")))
    return failure();
  if (failed(verifyScale(*this, getScale())) || failed(verifySink(*this)))
    return failure();
  if (!getCausal())
    return success();
  if (*getCausal() == getOver())
    return emitOpError("causal and over are both \"") << getOver() << "\"";
  return verifyHasIndex(*this, 0, *getCausal(), "causal");
}

/// (L1)
static LogicalResult verifyNorm(Operation *op, unsigned operands) {
  if (failed(verifyCount(op, operands, operands)) ||
      failed(verifySameNames(op)))
    return failure();
  IdxAttr gain = getIdx(op->getOperand(1));
  if (gain.getRank() == 0)
    return op->emitOpError("gain has no index; the norm is over the gain's "
                           "indices");
  for (StringRef name : indexNames(op->getOperand(1).getType()))
    if (failed(verifyHasIndex(op, 0, name, "gain index")))
      return failure();
  if (operands == 3 && getIdx(op->getOperand(2)).getNames() != gain.getNames())
    return op->emitOpError("gain and bias have different indices");
  return success();
}

template <typename Op>
static LogicalResult verifyNormAndEps(Op op, unsigned operands) {
  if (failed(verifyNorm(op, operands)))
    return failure();
  double eps = op.getEps().convertToDouble();
  if (!(eps >= 0) || !std::isfinite(eps))
    return op.emitOpError("eps is ") << eps << "; it is a number from 0 on";
  // Norms of 16-bit tensors are computed in f32.
  float rounded = static_cast<float>(eps);
  if (op.getResult().getType().getElementType().isF64() ||
      (std::isfinite(rounded) && (rounded != 0 || eps == 0)))
    return success();
  return op.emitOpError("eps is ")
         << eps << ", which is " << rounded
         << " in f32, in which the norm is computed; give 0, or a number from "
            "1.2e-38 to 3.4e38";
}

LogicalResult RmsNormOp::verify() { return verifyNormAndEps(*this, 2); }
LogicalResult LayerNormOp::verify() { return verifyNormAndEps(*this, 3); }

/// (O1), (O2)
/// (O3)
static LogicalResult verifyScaling(RopeOp op) {
  double stretch = op.getStretch().convertToDouble();
  if (!(stretch > 0) || !std::isfinite(stretch))
    return op.emitOpError("stretch is ") << stretch << "; it is positive";
  double trained = op.getTrained().convertToDouble();
  double slow = op.getSlowTurns().convertToDouble();
  double fast = op.getFastTurns().convertToDouble();
  if (trained == 0 && slow == 0 && fast == 0 && !op.getLogTurns())
    return success();
  if (trained > 0 && slow > 0 && slow < fast && std::isfinite(trained) &&
      std::isfinite(fast))
    return success();
  return op.emitOpError("trained, slow_turns and fast_turns are ")
         << trained << ", " << slow << " and " << fast
         << "; give none of them, or positive ones with slow_turns < "
            "fast_turns";
}

LogicalResult RopeOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)) ||
      failed(verifyHasIndex(*this, 0, getPosition(), "position")) ||
      failed(verifyHasIndex(*this, 0, getFeature(), "feature")))
    return failure();
  if (getPosition() == getFeature())
    return emitOpError("position and feature are both \"")
           << getFeature() << "\"";
  int64_t extent = extentOf(getOperand(0), getFeature());
  if (extent % 2 != 0)
    return emitOpError("rotates pairs, but index '")
           << getFeature() << "' has the odd extent " << extent;
  return verifyScaling(*this);
}

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

SmallVector<StringRef> SoftmaxOp::getWholeIndices() { return {getOver()}; }

/// May be called for an invalid operation, which may lack the gain.
static SmallVector<StringRef> gainIndices(Operation *norm) {
  if (norm->getNumOperands() < 2)
    return {};
  return indexNames(norm->getOperand(1).getType());
}

SmallVector<StringRef> RmsNormOp::getWholeIndices() {
  return gainIndices(*this);
}

SmallVector<StringRef> LayerNormOp::getWholeIndices() {
  return gainIndices(*this);
}

SmallVector<StringRef> RopeOp::getWholeIndices() { return {getFeature()}; }

LogicalResult SoftmaxOp::restrictPositions(StringRef index, int64_t, int64_t,
                                           int64_t) {
  return getCausal() == index ? refuseParts(*this, index) : success();
}

LogicalResult RopeOp::restrictPositions(StringRef index, int64_t, int64_t,
                                        int64_t) {
  return getPosition() == index ? refuseParts(*this, index) : success();
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                      Gradients gradients) {
  // dx = scale y (g - sum(g y)). Masked positions have y = 0.
  AdjointBuilder adjoint(b, getLoc());
  Value y = getResult();
  Value dot = adjoint.sum(adjoint.mul(y, g, y), {getOver()});
  if (needed[0]) {
    Value centred = adjoint.map<SubOp>(y, {g, dot});
    Value product = adjoint.mul(y, y, centred);
    gradients[0] = adjoint.scale(product, getScale().convertToDouble());
  }
  if (!getSink() || !needed[1])
    return success();
  // A sink's own weight is 1 - sum(y), and there g is 0.
  Value seen = adjoint.sum(y, {getOver()});
  Value lost = adjoint.map<ShiftOp>(seen, seen, b.getF64FloatAttr(-1));
  gradients[1] = adjoint.sumTo(adjoint.mul(dot, lost, dot), getSink());
  return success();
}

/// Whether a norm subtracts the mean and adds a bias.
template <typename Op>
constexpr bool isCentred = std::is_same_v<Op, LayerNormOp>;

/// With m = x, or m = x - mean x: n = m r with r = 1 / sqrt(mean(m^2) + eps); y
/// = n gain + bias. The gradients are dgain = sum(g n) and dbias = sum(g). With
/// h = g gain, dx = r (h - n mean(h n)), or dx = r (h - mean h - n mean(h n)).
template <typename Op>
static LogicalResult buildNormAdjoint(Op op, OpBuilder &b, Value g,
                                      Needed needed, Gradients gradients) {
  AdjointBuilder adjoint(b, op.getLoc());
  Value x = op.getOperand(0), gain = op.getOperand(1);
  SmallVector<StringRef> over = op.getWholeIndices();
  auto lessItsMean = [&](Value of) -> Value {
    return isCentred<Op> ? adjoint.map<SubOp>(x, {of, adjoint.mean(of, over)})
                         : of;
  };
  if (isCentred<Op> && needed[2])
    gradients[2] = adjoint.sumTo(g, op.getOperand(2));
  Value moved = lessItsMean(x);
  Value square = adjoint.square(moved);
  Value root = adjoint.inverseRoot(adjoint.mean(square, over), op.getEps());
  Value normal = adjoint.mul(x, moved, root);
  if (needed[1])
    gradients[1] = adjoint.contract({g, normal}, gain);
  if (!needed[0])
    return success();
  Value h = adjoint.mul(x, g, gain);
  Value dot = adjoint.mean(adjoint.mul(x, h, normal), over);
  Value level = lessItsMean(h);
  Value along = adjoint.mul(x, normal, dot);
  Value across = adjoint.map<SubOp>(x, {level, along});
  gradients[0] = adjoint.mul(x, across, root);
  return success();
}

LogicalResult RmsNormOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                      Gradients gradients) {
  return buildNormAdjoint(*this, b, g, needed, gradients);
}

LogicalResult LayerNormOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                        Gradients gradients) {
  return buildNormAdjoint(*this, b, g, needed, gradients);
}

LogicalResult RopeOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                   Gradients gradients) {
  // A rotation's transpose is its inverse.
  AdjointBuilder adjoint(b, getLoc());
  UnitAttr inverse = getInverse() ? UnitAttr() : b.getUnitAttr();
  gradients[0] = adjoint.map<RopeOp>(g, g, getPositionAttr(), getFeatureAttr(),
                                     getThetaAttr(), inverse, getStretchAttr(),
                                     getTrainedAttr(), getSlowTurnsAttr(),
                                     getFastTurnsAttr(), getLogTurnsAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Parts of composites
//===----------------------------------------------------------------------===//

Value SoftmaxOp::decompose(OpBuilder &b) {
  PartBuilder parts(b, getLoc());
  Value x = getOperand(0);
  if (getCausal())
    x = parts.map<CausalMaskOp>(
        x, x, getCausalAttr(), getOverAttr(),
        b.getF64FloatAttr(-std::numeric_limits<double>::infinity()), TileAttr(),
        PositionMask(), StringAttr());
  Value sink = getSink();
  double scale = getScale().convertToDouble();
  // The sink is compared with scaled elements. Otherwise they are scaled last,
  // where their sizes are smaller.
  if (sink && scale != 1)
    x = parts.scale(x, scale);
  Value highest = parts.reduce(x, {getOver()}, "max");
  if (sink)
    highest = parts.map<MaxOp>(highest, {highest, sink});
  else if (getHides())
    highest = parts.noLess(highest, lowestNumber(typeOf(x).getElementType()));
  // The maximum only keeps exp in range. After differentiation its gradient no
  // longer matters.
  if (!getIdx(x).getLocal())
    highest = parts.map<StopGradientOp>(highest, highest);
  Value shifted = parts.map<SubOp>(x, {x, highest});
  if (!sink && scale != 1)
    shifted = parts.scale(shifted, scale);
  Value weight = parts.exp(shifted);
  Value total = parts.reduce(weight, {getOver()}, "sum");
  // In a row with any visible element, the largest one contributes at least 1.
  if (sink)
    total = parts.map<AddOp>(
        total, {total, parts.exp(parts.map<SubOp>(highest, {sink, highest}))});
  else if (getHides())
    total = parts.noLess(total, 1);
  return parts.map<DivOp>(getResult(), {weight, total});
}

template <typename Op> static Value decomposeNorm(Op op, OpBuilder &b) {
  PartBuilder parts(b, op.getLoc());
  Value x = op.getOperand(0), gain = op.getOperand(1), moved = x;
  SmallVector<StringRef> over = op.getWholeIndices();
  if (isCentred<Op>)
    moved = parts.map<SubOp>(x, {x, parts.mean(x, over)});
  Value square = parts.square(moved);
  Value root = parts.inverseRoot(parts.mean(square, over), op.getEps());
  Value normal = parts.map<MulOp>(x, {moved, root});
  if (!isCentred<Op>)
    return parts.map<MulOp>(op.getResult(), {normal, gain});
  Value scaled = parts.map<MulOp>(x, {normal, gain});
  return parts.map<AddOp>(op.getResult(), {scaled, op.getOperand(2)});
}

Value RmsNormOp::decompose(OpBuilder &b) { return decomposeNorm(*this, b); }
Value LayerNormOp::decompose(OpBuilder &b) { return decomposeNorm(*this, b); }

Value RopeOp::decompose(OpBuilder &b) {
  // x[.., feature] -> [.., in, pair]; y[.., out, pair] = sum over in of
  // R[position, out, in, pair] x; -> [.., feature].
  PartBuilder parts(b, getLoc());
  Value x = getOperand(0);
  RankedTensorType type = typeOf(x);
  IdxAttr idx = getIdx(x);
  unsigned dim = *idx.dimOf(getFeature());
  int64_t pairs = type.getDimSize(dim) / 2;
  ArrayAttr own = idx.getAxes()[dim];
  StringAttr in = b.getStringAttr(getFeature() + ".in");
  StringAttr out = b.getStringAttr(getFeature() + ".out");
  StringAttr pair = b.getStringAttr(getFeature() + ".pair");

  Value halves = SplitOp::create(
      b, getLoc(), withDimensions(type, dim, {{in, 2}, {pair, pairs, own}}), x);
  RankedTensorType productType =
      withDimensions(type, dim, {{out, 2}, {in, 2}, {pair, pairs, own}});
  RankedTensorType rotated =
      withDimensions(type, dim, {{out, 2}, {pair, pairs, own}});
  RankedTensorType matrixType =
      tensorOver({getPosition(), out, in, pair}, {productType});
  Value matrix = RopeMatrixOp::create(
      b, getLoc(), matrixType, ValueRange{}, getPositionAttr(), pair, out, in,
      getThetaAttr(), b.getI64IntegerAttr(pairs), getInverseAttr(),
      getStretchAttr(), getTrainedAttr(), getSlowTurnsAttr(),
      getFastTurnsAttr(), getLogTurnsAttr());
  Value product =
      MulOp::create(b, getLoc(), productType, ValueRange{matrix, halves});
  Value sum = ReduceOp::create(b, getLoc(), rotated, ValueRange{product},
                               b.getStringAttr("sum"));
  return MergeOp::create(b, getLoc(), getResult().getType(), sum);
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// An index value as f64.
static Value asF64(OpBuilder &b, Location loc, Value index) {
  Value integer = arith::IndexCastOp::create(b, loc, b.getI64Type(), index);
  return arith::SIToFPOp::create(b, loc, b.getF64Type(), integer);
}

/// x between 0 and 1, else the nearer of the two.
static Scalar betweenZeroAndOne(const Scalar &x) {
  Scalar zero = x.constant(0), one = x.constant(1);
  return ifPositive(x, ifPositive(x - one, one, x), zero);
}

/// The share of a pair's frequency theta^(-pair / pairs) that stays as it is;
/// the rest is divided by `stretch`.
static Scalar keptPart(RopeMatrixOp op, const Scalar &pair,
                       const Scalar &frequency, double rate) {
  constexpr double circle = 6.283185307179586;
  double trained = op.getTrained().convertToDouble() / circle;
  double slow = op.getSlowTurns().convertToDouble();
  double fast = op.getFastTurns().convertToDouble();
  // log n is linear in the pair, so no logarithm is computed.
  Scalar turns = op.getLogTurns()
                     ? pair * pair.constant(rate) +
                           pair.constant(std::log(trained) - std::log(slow))
                     : frequency * pair.constant(trained) - pair.constant(slow);
  double width = op.getLogTurns() ? std::log(fast / slow) : fast - slow;
  return betweenZeroAndOne(turns / pair.constant(width));
}

/// The angle by which a pair turns from one position to the next, in f64.
static Scalar pairFrequency(RopeMatrixOp op, const Scalar &pair) {
  double rate = -std::log(op.getTheta().convertToDouble()) /
                static_cast<double>(op.getPairs());
  Scalar frequency = exp(pair * pair.constant(rate));
  double stretch = op.getStretch().convertToDouble();
  if (stretch == 1.0)
    return frequency;
  Scalar slowed = frequency / pair.constant(stretch);
  if (op.getTrained().convertToDouble() == 0)
    return slowed;
  Scalar kept = keptPart(op, pair, frequency, rate);
  return slowed + kept * (frequency - slowed);
}

Value RopeMatrixOp::emitScalar(OpBuilder &b, ValueRange, Position position) {
  // In f64: at position 10^5 an f32 angle is off by 0.01 rad.
  Location loc = getLoc();
  Scalar frequency =
      pairFrequency(*this, {b, loc, asF64(b, loc, position(getFeature()))});
  Value angle =
      (Scalar(b, loc, asF64(b, loc, position(getPosition()))) * frequency)
          .get();
  bool isF64 = getResult().getType().getElementType().isF64();
  auto narrow = [&](Value value) -> Value {
    return isF64 ? value
                 : arith::TruncFOp::create(b, loc, b.getF32Type(), value);
  };
  Value cos = narrow(math::CosOp::create(b, loc, angle));
  Value sin = narrow(math::SinOp::create(b, loc, angle));
  Value minusSin = arith::NegFOp::create(b, loc, sin);
  // Row `out`, column `in` of [[cos, -sin], [sin, cos]].
  Value out = position(getOut()), in = position(getIn());
  Value diagonal =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, out, in);
  Value lower =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, out, in);
  Value off = getInverse()
                  ? arith::SelectOp::create(b, loc, lower, minusSin, sin)
                  : arith::SelectOp::create(b, loc, lower, sin, minusSin);
  return arith::SelectOp::create(b, loc, diagonal, cos, off);
}

SmallVector<StringRef> RopeMatrixOp::getPositionIndices() {
  return {getPosition(), getFeature(), getOut(), getIn()};
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/RowOps.cpp.inc"
