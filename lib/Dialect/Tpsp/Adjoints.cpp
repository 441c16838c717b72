// The vector-Jacobian product of every operation, in operations of the dialect.
//
// Intermediate values are unplaced: tpsp-insert-collectives lets them come out
// as they do. No collective is named here; those of the backward pass follow
// from the index structure of the operations below.
#include "tpsp/Dialect/Tpsp/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

using Needed = ArrayRef<bool>;
using Gradients = MutableArrayRef<Value>;

namespace {

/// Builds unplaced values for one adjoint.
struct Adjoint {
  OpBuilder &b;
  Location loc;

  static RankedTensorType typeOf(Value v) {
    return cast<RankedTensorType>(v.getType());
  }
  static RankedTensorType unplaced(Value v) {
    return withoutPlacement(typeOf(v));
  }

  /// A pointwise operation with the indices of `like`.
  template <typename Op, typename... Args>
  Value map(Value like, ValueRange operands, Args... args) {
    return Op::create(b, loc, unplaced(like), operands, args...);
  }
  Value mul(Value like, Value x, Value y) { return map<MulOp>(like, {x, y}); }
  Value scale(Value x, double factor) {
    return map<ScaleOp>(x, x, b.getF64FloatAttr(factor));
  }

  /// `x` summed over the indices that `like` lacks, in the order of `like`.
  Value sumTo(Value x, Value like) {
    if (getIdx(x).getNames() == getIdx(like).getNames())
      return x;
    return ReduceOp::create(b, loc, unplaced(like), ValueRange{x},
                            b.getStringAttr("sum"));
  }
  /// The sum over `over` of x.
  Value sumOver(Value x, ArrayRef<StringRef> over) {
    SmallVector<StringRef> kept;
    for (StringRef name : indexNames(x.getType()))
      if (!llvm::is_contained(over, name))
        kept.push_back(name);
    return ReduceOp::create(b, loc,
                            withoutPlacement(tensorOver(kept, {typeOf(x)})),
                            ValueRange{x}, b.getStringAttr("sum"));
  }
  Value meanOver(Value x, ArrayRef<StringRef> over) {
    int64_t extent = 1;
    for (StringRef name : over)
      extent *= typeOf(x).getDimSize(*getIdx(x).dimOf(name));
    return scale(sumOver(x, over), 1.0 / extent);
  }
  /// 1 / sqrt(x + eps)
  Value inverseRoot(Value x, llvm::APFloat eps) {
    Value shifted =
        map<ShiftOp>(x, x, b.getF64FloatAttr(eps.convertToDouble()));
    return map<RsqrtOp>(x, shifted);
  }

  /// The sum of products x y with the indices of `like`; an index that neither
  /// has is broadcast.
  Value contract(ValueRange factors, Value like) {
    SmallVector<StringRef> carried;
    SmallVector<RankedTensorType> sources;
    for (Value factor : factors)
      sources.push_back(typeOf(factor));
    for (StringRef name : indexNames(like.getType()))
      if (llvm::any_of(factors, [&](Value f) { return getIdx(f).dimOf(name); }))
        carried.push_back(name);
    bool complete = carried.size() == getIdx(like).getRank();
    RankedTensorType type =
        complete ? unplaced(like)
                 : withoutPlacement(tensorOver(carried, sources));
    Value product = EinsumOp::create(b, loc, type, factors);
    return complete ? product : map<BroadcastOp>(like, product);
  }
};

} // namespace

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

LogicalResult EinsumOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                     Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (!needed[i])
      continue;
    SmallVector<Value> factors = {g};
    for (auto [j, other] : llvm::enumerate(getOperands()))
      if (j != i)
        factors.push_back(other);
    gradients[i] = adjoint.contract(factors, operand);
  }
  return success();
}

LogicalResult ReduceOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  if (getKind() != "sum")
    return emitOpError("of kind \"")
           << getKind()
           << "\" has no gradient; use a smooth maximum (tpsp.softmax), or "
              "keep "
              "it off the path from the differentiated arguments";
  Adjoint adjoint{b, getLoc()};
  gradients[0] = adjoint.map<BroadcastOp>(getOperand(0), g);
  return success();
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

LogicalResult AddOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    if (needed[i])
      gradients[i] = adjoint.sumTo(g, operand);
  return success();
}

LogicalResult SubOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  if (needed[0])
    gradients[0] = adjoint.sumTo(g, getOperand(0));
  if (needed[1])
    gradients[1] = adjoint.sumTo(adjoint.map<NegOp>(g, g), getOperand(1));
  return success();
}

LogicalResult MulOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                  Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
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
  Adjoint adjoint{b, getLoc()};
  Value y = getOperand(1);
  Value ratio = adjoint.map<DivOp>(g, {g, y});
  if (needed[0])
    gradients[0] = adjoint.sumTo(ratio, getOperand(0));
  if (needed[1]) {
    Value minus = adjoint.map<NegOp>(g, adjoint.mul(g, ratio, getResult()));
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
  Adjoint adjoint{b, getLoc()};
  Value back = ConvertOp::create(
      b, getLoc(),
      RankedTensorType::get(Adjoint::typeOf(g).getShape(),
                            Adjoint::typeOf(getOperand(0)).getElementType(),
                            Adjoint::unplaced(g).getEncoding()),
      ValueRange{g});
  gradients[0] = adjoint.sumTo(back, getOperand(0));
  return success();
}

LogicalResult BroadcastOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                        Gradients gradients) {
  gradients[0] = Adjoint{b, getLoc()}.sumTo(g, getOperand(0));
  return success();
}

LogicalResult ScaleOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  Value scaled = adjoint.scale(g, getFactor().convertToDouble());
  gradients[0] = adjoint.sumTo(scaled, getOperand(0));
  return success();
}

LogicalResult ShiftOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  gradients[0] = Adjoint{b, getLoc()}.sumTo(g, getOperand(0));
  return success();
}

LogicalResult NegOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                  Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  gradients[0] = adjoint.sumTo(adjoint.map<NegOp>(g, g), getOperand(0));
  return success();
}

template <typename Op>
static LogicalResult buildUnaryAdjoint(Op op, OpBuilder &b, Value g,
                                       Gradients gradients) {
  Adjoint adjoint{b, op.getLoc()};
  Value x = op.getOperand(0);
  Value slope = adjoint.map<SlopeOp>(x, x, b.getStringAttr(Op::function));
  gradients[0] = adjoint.sumTo(adjoint.mul(g, g, slope), x);
  return success();
}

#define TPSP_UNARY(OP)                                                         \
  LogicalResult OP::buildAdjoint(OpBuilder &b, Value g, Needed,                \
                                 Gradients gradients) {                        \
    return buildUnaryAdjoint(*this, b, g, gradients);                          \
  }
TPSP_UNARY(ExpOp)
TPSP_UNARY(LogOp)
TPSP_UNARY(TanhOp)
TPSP_UNARY(SqrtOp)
TPSP_UNARY(RsqrtOp)
TPSP_UNARY(SquareOp)
TPSP_UNARY(SigmoidOp)
TPSP_UNARY(ReluOp)
TPSP_UNARY(SiluOp)
TPSP_UNARY(GeluOp)
TPSP_UNARY(GeluErfOp)
#undef TPSP_UNARY

LogicalResult SlopeOp::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {
  return emitOpError("has no gradient: tpsp differentiates once; keep it off "
                     "the path from the differentiated arguments");
}

LogicalResult CausalMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                         Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  Value masked = adjoint.map<CausalMaskOp>(g, g, getQueryAttr(), getKeyAttr(),
                                           b.getF64FloatAttr(0), getTileAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

LogicalResult RopeMatrixOp::buildAdjoint(OpBuilder &, Value, Needed,
                                         Gradients) {
  return success(); // a constant
}

LogicalResult DropoutOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  // Linear, and its own transpose: the same elements are zeroed. Which, their
  // positions in the result say, whose order may not be the operand's.
  Adjoint adjoint{b, getLoc()};
  Value dropped =
      adjoint.map<DropoutOp>(g, g, getRateAttr(), getSeedAttr(), getAlongAttr(),
                             getPartAttr(), getTileAttr());
  gradients[0] = adjoint.sumTo(dropped, getOperand(0));
  return success();
}
LogicalResult DropoutMaskOp::buildAdjoint(OpBuilder &, Value, Needed,
                                          Gradients) {
  return success(); // a constant
}
LogicalResult ApplyMaskOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                        Gradients gradients) {
  Adjoint adjoint{b, getLoc()};
  Value masked =
      adjoint.map<ApplyMaskOp>(g, ValueRange{g, getOperand(1)}, getScaleAttr());
  gradients[0] = adjoint.sumTo(masked, getOperand(0));
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

LogicalResult OneHotEinsumOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                           Gradients gradients) {
  if (!needed.back())
    return success();
  Adjoint adjoint{b, getLoc()};
  SmallVector<Value> operands(getOperands().drop_back());
  operands.push_back(g);
  gradients.back() =
      adjoint.map<OneHotEinsumOp>(data(), operands, getIndicesAttr());
  return success();
}
LogicalResult RouterOp::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {
  return success(); // integers
}
LogicalResult CountEarlierOp::buildAdjoint(OpBuilder &, Value, Needed,
                                           Gradients) {
  return success(); // integers
}

static LogicalResult refuseComposite(Operation *op) {
  return op->emitOpError("is a composite; run tpsp-decompose-early before "
                         "differentiating");
}
#define TPSP_COMPOSITE(OP)                                                     \
  LogicalResult OP::buildAdjoint(OpBuilder &, Value, Needed, Gradients) {      \
    return refuseComposite(*this);                                             \
  }
TPSP_COMPOSITE(EmbeddingOp)
TPSP_COMPOSITE(CrossEntropyOp)
TPSP_COMPOSITE(MeanOp)
TPSP_COMPOSITE(DispatchOp)
TPSP_COMPOSITE(CombineOp)
#undef TPSP_COMPOSITE

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult SoftmaxOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                      Gradients gradients) {
  // dx = scale y (g - sum(g y)). Masked positions have y = 0.
  Adjoint adjoint{b, getLoc()};
  Value y = getResult();
  Value dot = adjoint.sumOver(adjoint.mul(y, g, y), {getOver()});
  Value centred = adjoint.map<SubOp>(y, {g, dot});
  Value product = adjoint.mul(y, y, centred);
  gradients[0] = adjoint.scale(product, getScale().convertToDouble());
  return success();
}

LogicalResult RmsNormOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                      Gradients gradients) {
  // n = x r with r = 1 / sqrt(mean(x^2) + eps); y = n gain.
  // dgain = sum(g n); dx = r (g gain - n mean(g gain n)).
  Adjoint adjoint{b, getLoc()};
  Value x = getOperand(0), gain = getOperand(1);
  SmallVector<StringRef> over = getWholeIndices();
  Value square = adjoint.map<SquareOp>(x, x);
  Value root = adjoint.inverseRoot(adjoint.meanOver(square, over), getEps());
  Value normal = adjoint.mul(x, x, root);
  if (needed[1])
    gradients[1] = adjoint.contract({g, normal}, gain);
  if (!needed[0])
    return success();
  Value scaled = adjoint.mul(x, g, gain);
  Value dot = adjoint.meanOver(adjoint.mul(x, scaled, normal), over);
  Value along = adjoint.mul(x, normal, dot);
  Value across = adjoint.map<SubOp>(x, {scaled, along});
  gradients[0] = adjoint.mul(x, across, root);
  return success();
}

LogicalResult LayerNormOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                        Gradients gradients) {
  // n = (x - mean x) r; y = n gain + bias. dgain = sum(g n), dbias = sum(g),
  // dx = r (h - mean h - n mean(h n)) with h = g gain.
  Adjoint adjoint{b, getLoc()};
  Value x = getOperand(0), gain = getOperand(1);
  SmallVector<StringRef> over = getWholeIndices();
  if (needed[2])
    gradients[2] = adjoint.sumTo(g, getOperand(2));
  Value centred = adjoint.map<SubOp>(x, {x, adjoint.meanOver(x, over)});
  Value square = adjoint.map<SquareOp>(x, centred);
  Value root = adjoint.inverseRoot(adjoint.meanOver(square, over), getEps());
  Value normal = adjoint.mul(x, centred, root);
  if (needed[1])
    gradients[1] = adjoint.contract({g, normal}, gain);
  if (!needed[0])
    return success();
  Value h = adjoint.mul(x, g, gain);
  Value dot = adjoint.meanOver(adjoint.mul(x, h, normal), over);
  Value level = adjoint.map<SubOp>(x, {h, adjoint.meanOver(h, over)});
  Value along = adjoint.mul(x, normal, dot);
  Value across = adjoint.map<SubOp>(x, {level, along});
  gradients[0] = adjoint.mul(x, across, root);
  return success();
}

LogicalResult RopeOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                   Gradients gradients) {
  // A rotation's transpose is its inverse.
  Adjoint adjoint{b, getLoc()};
  UnitAttr inverse = getInverse() ? UnitAttr() : b.getUnitAttr();
  gradients[0] = adjoint.map<RopeOp>(g, g, getPositionAttr(), getFeatureAttr(),
                                     getThetaAttr(), inverse);
  return success();
}

//===----------------------------------------------------------------------===//
// Views and requests
//===----------------------------------------------------------------------===//

template <typename Inverse>
static LogicalResult buildViewAdjoint(Operation *op, OpBuilder &b, Value g,
                                      Gradients gradients) {
  gradients[0] =
      Inverse::create(b, op->getLoc(), Adjoint::unplaced(op->getOperand(0)), g);
  return success();
}
LogicalResult RenameOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  return buildViewAdjoint<RenameOp>(*this, b, g, gradients);
}
LogicalResult SplitOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  return buildViewAdjoint<MergeOp>(*this, b, g, gradients);
}
LogicalResult MergeOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  return buildViewAdjoint<SplitOp>(*this, b, g, gradients);
}
LogicalResult ReshardOp::buildAdjoint(OpBuilder &, Value g, Needed,
                                      Gradients gradients) {
  gradients[0] = g; // the operand's own placement is restored on use
  return success();
}
LogicalResult StopGradientOp::buildAdjoint(OpBuilder &, Value, Needed,
                                           Gradients) {
  return success(); // a constant
}
