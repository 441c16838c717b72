// Composites in terms of simpler operations. Types of the parts follow from the
// operands' by index name, so the same code serves before placement and on
// local shapes.
#include "tpsp/Dialect/Tpsp/TpspDialect.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Builds operations on values of one composite.
struct Parts {
  OpBuilder &b;
  Location loc;

  RankedTensorType typeOf(Value v) {
    return cast<RankedTensorType>(v.getType());
  }
  /// A pointwise operation with the indices of `like`.
  template <typename Op, typename... Args>
  Value map(Value like, ValueRange operands, Args... args) {
    return Op::create(b, loc, typeOf(like), operands, args...);
  }
  /// The tensor type of `x` without the indices `over`.
  RankedTensorType rowType(Value x, ArrayRef<StringRef> over) {
    SmallVector<StringRef> kept;
    for (StringRef name : indexNames(x.getType()))
      if (!llvm::is_contained(over, name))
        kept.push_back(name);
    return tensorOver(kept, {typeOf(x)});
  }
  Value reduce(Value x, ArrayRef<StringRef> over, StringRef kind) {
    return ReduceOp::create(b, loc, rowType(x, over), ValueRange{x},
                            b.getStringAttr(kind));
  }
  Value mean(Value x, ArrayRef<StringRef> over) {
    int64_t extent = 1;
    for (StringRef name : over)
      extent *= typeOf(x).getDimSize(*getIdx(x).dimOf(name));
    Value sum = reduce(x, over, "sum");
    return map<ScaleOp>(sum, sum, b.getF64FloatAttr(1.0 / extent));
  }
  /// 1 / sqrt(x + eps)
  Value inverseRoot(Value x, llvm::APFloat eps) {
    Value shifted =
        map<ShiftOp>(x, x, b.getF64FloatAttr(eps.convertToDouble()));
    return map<RsqrtOp>(x, shifted);
  }
};

} // namespace

Value SoftmaxOp::decompose(OpBuilder &b) {
  Parts parts{b, getLoc()};
  Value x = getOperand(0);
  if (getCausal())
    x = parts.map<CausalMaskOp>(
        x, x, getCausalAttr(), getOverAttr(),
        b.getF64FloatAttr(-std::numeric_limits<double>::infinity()),
        TileAttr());
  Value highest = parts.reduce(x, {getOver()}, "max");
  Value shifted = parts.map<SubOp>(x, {x, highest});
  if (getScale().convertToDouble() != 1.0)
    shifted = parts.map<ScaleOp>(shifted, shifted, getScaleAttr());
  Value weight = parts.map<ExpOp>(shifted, shifted);
  Value total = parts.reduce(weight, {getOver()}, "sum");
  return parts.map<DivOp>(getResult(), {weight, total});
}

Value RmsNormOp::decompose(OpBuilder &b) {
  Parts parts{b, getLoc()};
  Value x = getOperand(0), gain = getOperand(1);
  SmallVector<StringRef> over = getWholeIndices();
  Value square = parts.map<SquareOp>(x, x);
  Value root = parts.inverseRoot(parts.mean(square, over), getEps());
  Value normal = parts.map<MulOp>(x, {x, root});
  return parts.map<MulOp>(getResult(), {normal, gain});
}

Value LayerNormOp::decompose(OpBuilder &b) {
  Parts parts{b, getLoc()};
  Value x = getOperand(0), gain = getOperand(1), bias = getOperand(2);
  SmallVector<StringRef> over = getWholeIndices();
  Value centred = parts.map<SubOp>(x, {x, parts.mean(x, over)});
  Value square = parts.map<SquareOp>(x, centred);
  Value root = parts.inverseRoot(parts.mean(square, over), getEps());
  Value normal = parts.map<MulOp>(x, {centred, root});
  Value scaled = parts.map<MulOp>(x, {normal, gain});
  return parts.map<AddOp>(getResult(), {scaled, bias});
}

Value RopeOp::decompose(OpBuilder &b) {
  // x[.., feature] -> [.., in, pair]; y[.., out, pair] = sum over in of
  // R[position, out, in, pair] x; -> [.., feature].
  Parts parts{b, getLoc()};
  Value x = getOperand(0);
  RankedTensorType type = parts.typeOf(x);
  IdxAttr idx = getIdx(x);
  unsigned dim = *idx.dimOf(getFeature());
  int64_t pairs = type.getDimSize(dim) / 2;
  StringAttr in = b.getStringAttr(getFeature() + ".in");
  StringAttr out = b.getStringAttr(getFeature() + ".out");
  StringAttr pair = b.getStringAttr(getFeature() + ".pair");

  // The type of x with the feature replaced by `parts` of these extents.
  auto replaced = [&](ArrayRef<StringAttr> names, ArrayRef<int64_t> extents) {
    SmallVector<StringAttr> newNames(idx.getNames());
    SmallVector<ArrayAttr> newAxes(idx.getAxes());
    SmallVector<int64_t> shape(type.getShape());
    newNames.erase(newNames.begin() + dim);
    newNames.insert(newNames.begin() + dim, names.begin(), names.end());
    newAxes.insert(newAxes.begin() + dim, names.size() - 1, b.getArrayAttr({}));
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, extents.begin(), extents.end());
    return RankedTensorType::get(
        shape, type.getElementType(),
        IdxAttr::get(getContext(), newNames, newAxes, idx.getPending(),
                     idx.getPendingMax(), idx.getUnplaced(), idx.getLocal()));
  };
  Value halves =
      SplitOp::create(b, getLoc(), replaced({in, pair}, {2, pairs}), x);
  RankedTensorType productType = replaced({out, in, pair}, {2, 2, pairs});
  RankedTensorType rotated = replaced({out, pair}, {2, pairs});
  RankedTensorType matrixType =
      tensorOver({getPosition(), out, in, pair}, {productType});
  Value matrix = RopeMatrixOp::create(
      b, getLoc(), matrixType, ValueRange{}, getPositionAttr(), pair, out, in,
      getThetaAttr(), b.getI64IntegerAttr(pairs), getInverseAttr());
  Value product =
      MulOp::create(b, getLoc(), productType, ValueRange{matrix, halves});
  Value sum = ReduceOp::create(b, getLoc(), rotated, ValueRange{product},
                               b.getStringAttr("sum"));
  return MergeOp::create(b, getLoc(), getResult().getType(), sum);
}

Value AttentionOp::decompose(OpBuilder &b) {
  Value q = getOperand(0), k = getOperand(1), v = getOperand(2);
  SmallVector<StringRef> names;
  for (StringRef name : indexNames(q.getType()))
    if (name != getFeature() && name != getQuery())
      names.push_back(name);
  names.push_back(getQuery());
  names.push_back(getKey());
  RankedTensorType scoresType = withoutPlacement(
      tensorOver(names, {cast<RankedTensorType>(q.getType()),
                         cast<RankedTensorType>(k.getType())}));
  Value scores = EinsumOp::create(b, getLoc(), scoresType, ValueRange{q, k});
  Value weights = SoftmaxOp::create(
      b, getLoc(), scoresType, ValueRange{scores}, getKeyAttr(), getScaleAttr(),
      getCausal() ? getQueryAttr() : StringAttr());
  SmallVector<Value> parts = {scores, weights};
  if (getDropout())
    parts.push_back(weights = DropoutOp::create(
                        b, getLoc(), scoresType, ValueRange{weights},
                        getDropoutAttr(), getSeedAttr(), StringAttr(),
                        DenseI64ArrayAttr(), TileAttr()));
  // As large as the sequence squared, for a fraction of the block's work.
  for (Value part : parts)
    part.getDefiningOp()->setAttr(recomputeAttrName, b.getUnitAttr());
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, v});
}
bool AttentionOp::decomposesEarly() { return true; }

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value MeanOp::decompose(OpBuilder &b) {
  Value x = getOperand(0);
  int64_t extent = 1;
  for (auto [name, size] :
       llvm::zip_equal(indexNames(x.getType()),
                       cast<RankedTensorType>(x.getType()).getShape()))
    if (!getIdx(getResult()).dimOf(name))
      extent *= size;
  Value sum =
      ReduceOp::create(b, getLoc(), withoutPlacement(getResult().getType()),
                       ValueRange{x}, b.getStringAttr("sum"));
  return ScaleOp::create(b, getLoc(), getResult().getType(), ValueRange{sum},
                         b.getF64FloatAttr(1.0 / static_cast<double>(extent)));
}
bool MeanOp::decomposesEarly() { return true; }

Value EmbeddingOp::decompose(OpBuilder &b) {
  return OneHotEinsumOp::create(b, getLoc(), getResult().getType(),
                                getOperands(),
                                b.getStrArrayAttr({getVocabulary()}));
}
bool EmbeddingOp::decomposesEarly() { return true; }

Value CrossEntropyOp::decompose(OpBuilder &b) {
  // log sum exp(x) - x[t] = log sum exp(x - m) - (x - m)[t], for any m: as the
  // row's maximum it keeps exp in range, and it has no gradient.
  Parts parts{b, getLoc()};
  Value x = getOperand(0), targets = getOperand(1);
  auto unplaced = [](RankedTensorType type) { return withoutPlacement(type); };
  RankedTensorType wide = unplaced(parts.typeOf(x));
  RankedTensorType row = unplaced(getResult().getType());
  auto reduce = [&](Value value, StringRef kind) -> Value {
    return ReduceOp::create(b, getLoc(), row, ValueRange{value},
                            b.getStringAttr(kind));
  };
  Value highest = reduce(x, "max");
  Value level = StopGradientOp::create(b, getLoc(), row, highest);
  Value shifted = SubOp::create(b, getLoc(), wide, ValueRange{x, level});
  Value weight = ExpOp::create(b, getLoc(), wide, ValueRange{shifted});
  Value total = reduce(weight, "sum");
  Value target =
      OneHotEinsumOp::create(b, getLoc(), row, ValueRange{targets, shifted},
                             b.getStrArrayAttr({getOver()}));
  Value normalizer = LogOp::create(b, getLoc(), row, ValueRange{total});
  return SubOp::create(b, getLoc(), getResult().getType(),
                       ValueRange{normalizer, target});
}
bool CrossEntropyOp::decomposesEarly() { return true; }

/// The slot of every choice at its expert: how many equal ids come before it,
/// first choices of all tokens first.
static Value slotsOf(OpBuilder &b, Location loc, Value ids, Value result,
                     StringRef choice, int64_t experts) {
  SmallVector<StringRef> over = {choice};
  for (StringRef name : indexNames(ids.getType()))
    if (name != choice && !getIdx(result).dimOf(name))
      over.push_back(name);
  return CountEarlierOp::create(
      b, loc, withoutPlacement(cast<RankedTensorType>(ids.getType())),
      ValueRange{ids}, b.getStrArrayAttr(over), b.getI64IntegerAttr(experts));
}

Value DispatchOp::decompose(OpBuilder &b) {
  Value ids = getOperand(0);
  Value slots =
      slotsOf(b, getLoc(), ids, getResult(), getChoice(), getIntegerBound(0));
  return OneHotEinsumOp::create(b, getLoc(), getResult().getType(),
                                ValueRange{ids, slots, getOperand(1)},
                                b.getStrArrayAttr({getExpert(), getSlot()}));
}
bool DispatchOp::decomposesEarly() { return true; }

Value CombineOp::decompose(OpBuilder &b) {
  Value ids = getOperand(0), weights = getOperand(1), v = getOperand(2);
  Value slots = slotsOf(b, getLoc(), ids, v, getChoice(), getIntegerBound(0));
  SmallVector<StringRef> names = indexNames(ids.getType());
  for (StringRef name : indexNames(v.getType()))
    if (name != getExpert() && name != getSlot() &&
        !llvm::is_contained(names, name))
      names.push_back(name);
  auto unplaced = [](Value value) {
    return withoutPlacement(cast<RankedTensorType>(value.getType()));
  };
  RankedTensorType picked = tensorOver(names, {unplaced(v), unplaced(ids)});
  Value each =
      OneHotEinsumOp::create(b, getLoc(), picked, ValueRange{ids, slots, v},
                             b.getStrArrayAttr({getExpert(), getSlot()}));
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, each});
}
bool CombineOp::decomposesEarly() { return true; }
