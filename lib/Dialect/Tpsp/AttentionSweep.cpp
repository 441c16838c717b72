// Attention, its rows' statistic and its gradients, block by block of the keys.
//
// Of any blocks of the keys, the state (m, l, a) = (the largest score, the sum
// of exp(score - m), the same sum times values) says all that there is to know,
// and two states merge to one: l and a are scaled by exp(m - m') (Milakov and
// Gimelshein, Online normalizer calculation for softmax, 2018). So blocks may
// come in any order, and no row of scores is in memory whole. States are in
// f32, whatever the tensors: a rounded m would scale every weight of its row.
#include "tpsp/Dialect/Tpsp/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// In place of minus infinity, for which exp(m - m) is no number where a whole
/// block of a row is masked; exp(this - anything else) is 0 all the same.
constexpr double masked = -1e30;

RankedTensorType typeOf(Value v) { return cast<RankedTensorType>(v.getType()); }

/// The indices of a row of scores: the query operand's without `feature`, the
/// query last.
SmallVector<StringRef> rowNames(Value q, StringRef query, StringRef feature) {
  SmallVector<StringRef> names;
  for (StringRef name : indexNames(q.getType()))
    if (name != feature && name != query)
      names.push_back(name);
  names.push_back(query);
  return names;
}

/// Builds what every one of the operations makes of a block.
template <typename Op> struct KeyBlock {
  Op op;
  OpBuilder &b;
  TileAttr tile;
  Value q, k;

  /// What states are in.
  Type precision() {
    Type element = typeOf(q).getElementType();
    return element.isF64() ? element : b.getF32Type();
  }
  static RankedTensorType withElement(RankedTensorType type, Type element) {
    return RankedTensorType::get(type.getShape(), element, type.getEncoding());
  }
  Value convert(Value x, Type element) {
    RankedTensorType type = typeOf(x);
    if (type.getElementType() == element)
      return x;
    return ConvertOp::create(b, op.getLoc(), withElement(type, element),
                             ValueRange{x});
  }
  Value wide(Value x) { return convert(x, precision()); }
  Value narrow(Value x) { return convert(x, typeOf(q).getElementType()); }

  template <typename Part, typename... Args>
  Value map(Value like, ValueRange operands, Args... args) {
    return Part::create(b, op.getLoc(), typeOf(like), operands, args...);
  }
  Value scale(Value x) {
    return op.getScale().convertToDouble() == 1.0
               ? x
               : map<ScaleOp>(x, x, op.getScaleAttr());
  }
  Value einsum(RankedTensorType type, Value x, Value y) {
    return EinsumOp::create(b, op.getLoc(), type, ValueRange{x, y});
  }
  /// Over a row and the block's keys.
  Value product(Value x, Value y) {
    SmallVector<StringRef> names = rowNames(q, op.getQuery(), op.getFeature());
    names.push_back(op.getKey());
    return einsum(tensorOver(names, {typeOf(q), typeOf(k)}), x, y);
  }
  Value reduce(Value x, StringRef kind) {
    RankedTensorType row =
        tensorOver(rowNames(q, op.getQuery(), op.getFeature()), {typeOf(x)});
    return ReduceOp::create(b, op.getLoc(), row, ValueRange{x},
                            b.getStringAttr(kind));
  }

  /// Of every row, the sum of x times y. The same for all blocks, which CSE
  /// finds.
  Value rowProduct(Value x, Value y) {
    Value wideX = wide(x);
    return reduce(map<MulOp>(wideX, {wideX, wide(y)}), "sum");
  }

  /// Not scaled yet.
  Value scores() {
    Value x = wide(product(q, k));
    if (!op.getCausal())
      return x;
    return map<CausalMaskOp>(x, x, op.getQueryAttr(), op.getKeyAttr(),
                             b.getF64FloatAttr(masked), tile);
  }
  Value dropped(Value x) {
    if (!op.getDropout())
      return x;
    return map<DropoutOp>(x, x, op.getDropoutAttr(), op.getSeedAttr(),
                          StringAttr(), DenseI64ArrayAttr(), tile);
  }
};

/// What a block does to the state (m, l).
struct RowUpdate {
  Value m, l;
  /// The block's weights against m, before dropout.
  Value weights;
  /// What earlier sums are scaled by; null for the first block.
  Value decay;
};

template <typename Op>
RowUpdate updateRow(KeyBlock<Op> &block, ValueRange state) {
  RowUpdate row;
  Value scores = block.scores();
  row.m = block.reduce(scores, "max");
  if (!state.empty())
    row.m = block.template map<MaxOp>(row.m, {state[0], row.m});
  auto exponential = [&](Value x) {
    Value shifted = block.template map<SubOp>(x, {x, row.m});
    return block.template map<ExpOp>(x, block.scale(shifted));
  };
  row.weights = exponential(scores);
  row.l = block.reduce(row.weights, "sum");
  if (state.empty())
    return row;
  row.decay = exponential(state[0]);
  Value before = block.template map<MulOp>(row.l, {state[1], row.decay});
  row.l = block.template map<AddOp>(row.l, {before, row.l});
  return row;
}

} // namespace

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

StringRef AttentionOp::getSweptIndex() { return getKey(); }

SmallVector<Value> AttentionOp::sweepBlock(OpBuilder &b, ValueRange operands,
                                           TileAttr tile, ValueRange state,
                                           Value &) {
  KeyBlock<AttentionOp> block{*this, b, tile, operands[0], operands[1]};
  RowUpdate row = updateRow(block, state);
  Value kept = block.narrow(block.dropped(row.weights));
  Value sum =
      block.wide(block.einsum(getResult().getType(), kept, operands[2]));
  if (!state.empty()) {
    Value before = block.map<MulOp>(sum, {state[2], row.decay});
    sum = block.map<AddOp>(sum, {before, sum});
  }
  return {row.m, row.l, sum};
}

Value AttentionOp::finishSweep(OpBuilder &b, ValueRange state) {
  KeyBlock<AttentionOp> row{*this, b, {}, getOperand(0), getOperand(1)};
  return row.narrow(row.map<DivOp>(state[2], {state[2], state[1]}));
}

StringRef AttentionStatisticOp::getSweptIndex() { return getKey(); }

SmallVector<Value> AttentionStatisticOp::sweepBlock(OpBuilder &b,
                                                    ValueRange operands,
                                                    TileAttr tile,
                                                    ValueRange state, Value &) {
  KeyBlock<AttentionStatisticOp> block{*this, b, tile, operands[0],
                                       operands[1]};
  RowUpdate row = updateRow(block, state);
  return {row.m, row.l};
}

Value AttentionStatisticOp::finishSweep(OpBuilder &b, ValueRange state) {
  KeyBlock<AttentionStatisticOp> row{
      *this, b, {}, getOperand(0), getOperand(1)};
  Value level = row.scale(state[0]);
  Value log = row.map<LogOp>(state[1], state[1]);
  return AddOp::create(b, getLoc(), getResult().getType(),
                       ValueRange{level, log});
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

StringRef AttentionGradientOp::getSweptIndex() { return getKey(); }

SmallVector<Value>
AttentionGradientOp::sweepBlock(OpBuilder &b, ValueRange operands,
                                TileAttr tile, ValueRange state, Value &part) {
  KeyBlock<AttentionGradientOp> block{*this, b, tile, operands[0], operands[1]};
  Value q = operands[0], k = operands[1], v = operands[2];
  Value statistic = operands[3], g = operands[4], o = operands[5];
  Value scores = block.scale(block.scores());
  Value shifted = block.map<SubOp>(scores, {scores, statistic});
  Value weights = block.map<ExpOp>(shifted, shifted);
  // A part carries the swept index as the block's operand does.
  auto partType = [&]() {
    IdxAttr idx = getIdx(getResult());
    RankedTensorType like = tensorOver(indexNames(getResult().getType()),
                                       {typeOf(operands[getOf()])});
    auto pending = IdxAttr::get(
        getContext(), idx.getNames(), getIdx(like).getAxes(), idx.getPending(),
        idx.getPendingMax(), /*unplaced=*/false, idx.getLocal());
    return RankedTensorType::get(like.getShape(), like.getElementType(),
                                 pending);
  };
  if (getOf() == 2) {
    part = block.einsum(partType(), block.narrow(block.dropped(weights)), g);
    return {};
  }
  Value slope = block.dropped(block.wide(block.product(g, v)));
  Value centred = block.map<SubOp>(slope, {slope, block.rowProduct(g, o)});
  Value product = block.map<MulOp>(weights, {weights, centred});
  Value ds = block.narrow(block.scale(product));
  if (getOf() == 1) {
    part = block.einsum(partType(), ds, q);
    return {};
  }
  Value sum = block.wide(block.einsum(getResult().getType(), ds, k));
  if (!state.empty())
    sum = block.map<AddOp>(sum, {state[0], sum});
  return {sum};
}

Value AttentionGradientOp::finishSweep(OpBuilder &b, ValueRange state) {
  KeyBlock<AttentionGradientOp> row{*this, b, {}, getOperand(0), getOperand(1)};
  return row.narrow(state[0]);
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

SmallVector<StringRef> AttentionOp::getWholeIndices() {
  return {getKey(), getFeature()};
}
SmallVector<StringRef> AttentionStatisticOp::getWholeIndices() {
  return {getKey(), getFeature()};
}
/// The value's own feature, too: weights' slopes are sums over it. Asked before
/// operands have been counted.
SmallVector<StringRef> AttentionGradientOp::getWholeIndices() {
  SmallVector<StringRef> whole = {getKey(), getFeature()};
  if (getNumOperands() < 3)
    return whole;
  for (StringRef name : indexNames(getOperand(2).getType()))
    if (!getIdx(getOperand(0)).dimOf(name))
      whole.push_back(name);
  return whole;
}

bool AttentionStatisticOp::mixesPrecision() { return true; }
bool AttentionGradientOp::mixesPrecision() { return true; }

/// A part of the batch would have to know which elements dropout keeps, and of
/// the sequence, what is masked.
template <typename Op>
static LogicalResult restrictAttention(Op op, StringRef index) {
  bool masks =
      op.getCausal() && (index == op.getQuery() || index == op.getKey());
  if (!masks && !op.getDropout())
    return success();
  return op.emitOpError(masks ? "masks" : "drops weights")
         << " by positions along '" << index
         << "', which a part of it cannot know; cut along another index, or do "
            "not sweep attention in blocks";
}
LogicalResult AttentionOp::restrictPositions(StringRef index, int64_t, int64_t,
                                             int64_t) {
  return restrictAttention(*this, index);
}
LogicalResult AttentionStatisticOp::restrictPositions(StringRef index, int64_t,
                                                      int64_t, int64_t) {
  return restrictAttention(*this, index);
}
LogicalResult AttentionGradientOp::restrictPositions(StringRef index, int64_t,
                                                     int64_t, int64_t) {
  return restrictAttention(*this, index);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

/// A place for what the forward pass makes for the backward pass alone: that of
/// `op`, but not its name.
static Location placeOf(Operation *op) {
  Location loc = op->getLoc();
  if (auto named = dyn_cast<NameLoc>(loc))
    return named.getChildLoc();
  auto call = dyn_cast<CallSiteLoc>(loc);
  if (auto named = call ? dyn_cast<NameLoc>(call.getCallee()) : NameLoc())
    return CallSiteLoc::get(named.getChildLoc(), call.getCaller());
  return loc;
}

/// The sum of a tensor that is partial; else the tensor.
static Value completed(OpBuilder &b, Value x) {
  IdxAttr idx = getIdx(x);
  if (idx.getPending().empty())
    return x;
  auto whole = IdxAttr::get(b.getContext(), idx.getNames(), idx.getAxes(),
                            /*pending=*/{}, /*pendingMax=*/false,
                            idx.getUnplaced(), idx.getLocal());
  RankedTensorType type = typeOf(x);
  return ReshardOp::create(
      b, x.getLoc(),
      RankedTensorType::get(type.getShape(), type.getElementType(), whole), x);
}

LogicalResult AttentionOp::buildAdjoint(OpBuilder &b, Value g,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> gradients) {
  Value q = getOperand(0), k = getOperand(1), v = getOperand(2);
  KeyBlock<AttentionOp> wide{*this, b, {}, q, k};
  auto withPrecision = [&](RankedTensorType type) {
    return KeyBlock<AttentionOp>::withElement(withoutPlacement(type),
                                              wide.precision());
  };
  RankedTensorType row = withPrecision(
      tensorOver(rowNames(q, getQuery(), getFeature()), {typeOf(q)}));
  // The forward pass makes it, of what it has of the scores at hand.
  OpBuilder forward(getContext());
  forward.setInsertionPointAfter(getOperation());
  Value statistic = AttentionStatisticOp::create(
      forward, placeOf(*this), row, ValueRange{q, k}, getQueryAttr(),
      getKeyAttr(), getFeatureAttr(), getScaleAttr(), getCausalAttr(),
      getDropoutAttr(), getSeedAttr());
  Value result = completed(b, getResult());
  for (unsigned of = 0; of < 3; ++of)
    if (needed[of])
      gradients[of] = AttentionGradientOp::create(
          b, getLoc(), withoutPlacement(typeOf(getOperand(of))),
          ValueRange{q, k, v, statistic, g, result}, getQueryAttr(),
          getKeyAttr(), getFeatureAttr(), getScaleAttr(), getCausalAttr(),
          getDropoutAttr(), getSeedAttr(), b.getI64IntegerAttr(of));
  return success();
}

/// The statistic is what attention's own gradient accounts for.
LogicalResult AttentionStatisticOp::buildAdjoint(OpBuilder &, Value,
                                                 ArrayRef<bool>,
                                                 MutableArrayRef<Value>) {
  return emitOpError("has no gradient; keep it off the path from the "
                     "differentiated arguments");
}
LogicalResult AttentionGradientOp::buildAdjoint(OpBuilder &, Value,
                                                ArrayRef<bool>,
                                                MutableArrayRef<Value>) {
  return emitOpError("has no gradient: tpsp differentiates once; keep it off "
                     "the path from the differentiated arguments");
}
