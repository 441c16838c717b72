// Attention and its gradient, block by block of the keys; its adjoint.
//
// The state of any blocks of the keys is (m, l, a). They are the largest score,
// the sum of exp(score - m), and the same sum times values. Two states merge to
// one: l and a are scaled by exp(m - m'). (Milakov and Gimelshein, Online
// normalizer calculation for softmax, 2018.) So blocks may come in any order,
// and no row of scores is in memory whole. States are in f32, whatever the
// tensors: a rounded m would scale every weight of its row.
//
// A row that has seen no key so far has the lowest number for m, and l and a
// are 0.
#include "AttentionSinks.h"
#include "Dialect/Tpsp/Operations/HiddenKeys.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Builds what every one of the operations makes of a block. `operands` are the
/// operation's, of the block.
template <typename Op> struct KeyBlock {
  KeyBlock(Op op, OpBuilder &b, TileAttr tile, ValueRange operands)
      : op(op), b(b), tile(tile), q(operands[0]), k(operands[1]),
        options(op.getScoreOptions()),
        hidden(op,
               optionalOperands(operands, Op::numTensors, op.getQuery(),
                                op.getKey()),
               tile) {}

  Op op;
  OpBuilder &b;
  TileAttr tile;
  Value q, k;
  const ScoreOptions options;
  HiddenKeys hidden;

  Value convert(Value x, Type element) {
    RankedTensorType type = typeOf(x);
    if (type.getElementType() == element)
      return x;
    return ConvertOp::create(b, op.getLoc(), withElement(type, element),
                             ValueRange{x});
  }
  Value wide(Value x) { return convert(x, statisticType(q)); }
  Value narrow(Value x) { return convert(x, typeOf(q).getElementType()); }

  template <typename Part, typename... Args>
  Value map(Value like, ValueRange operands, Args... args) {
    return Part::create(b, op.getLoc(), typeOf(like), operands, args...);
  }
  /// Whether scores are scaled before more is done to them. Else it comes last,
  /// where there is less to scale.
  bool scalesFirst() { return op.getSoftcap() || hidden.mayBeAll(); }
  Value times(Value x, double factor) {
    return factor == 1.0 ? x : map<ScaleOp>(x, x, b.getF64FloatAttr(factor));
  }
  /// What is left to scale.
  Value scale(Value x) { return scalesFirst() ? x : times(x, options.scale); }
  Value einsum(RankedTensorType type, Value x, Value y) {
    return EinsumOp::create(b, op.getLoc(), type, ValueRange{x, y});
  }
  /// Over a row and the block's keys.
  Value product(Value x, Value y) {
    SmallVector<StringRef> names =
        rowIndices(q, op.getQuery(), op.getFeature());
    names.push_back(op.getKey());
    return einsum(tensorOver(names, {typeOf(q), typeOf(k)}), x, y);
  }
  Value reduce(Value x, StringRef kind) {
    RankedTensorType row =
        tensorOver(rowIndices(q, op.getQuery(), op.getFeature()), {typeOf(x)});
    return ReduceOp::create(b, op.getLoc(), row, ValueRange{x},
                            b.getStringAttr(kind));
  }

  /// The sum of x times y, for every row. It is the same for all blocks, which
  /// CSE finds.
  Value rowProduct(Value x, Value y) {
    Value wideX = wide(x);
    return reduce(map<MulOp>(wideX, {wideX, wide(y)}), "sum");
  }

  /// tanh(scale x / cap), of which a capped score is the cap's multiple.
  Value bent(Value x) {
    x = times(x, options.scale / options.softcap);
    return map<TanhOp>(x, x);
  }
  Value scored(Value x) {
    if (op.getSoftcap())
      return times(bent(x), options.softcap);
    return scalesFirst() ? times(x, options.scale) : x;
  }
  /// To be scaled yet where scalesFirst() does not hold.
  Value scores() {
    Value x = scored(wide(product(q, k)));
    HiddenKeys ofWide = hidden;
    if (hidden.bias)
      ofWide.bias = wide(hidden.bias);
    return ofWide.applyTo(x, ScoreBuilder{b, op.getLoc(), typeOf(x)});
  }
  Value noLess(Value x, double least) {
    return map<ClampOp>(x, x, b.getF64FloatAttr(least), FloatAttr());
  }
  /// Makes a finite number of a maximum, which is -inf if all scores are
  /// hidden.
  Value asNumber(Value x) {
    return noLess(x, lowestNumber(typeOf(x).getElementType()));
  }
  /// Of a score's slope: that of the product of a query and a key.
  Value slopeOfProduct(Value dz) {
    Value ds = times(dz, options.scale);
    if (!op.getSoftcap())
      return ds;
    // tanh's slope is that of the score before it was bent.
    Value x = times(wide(product(q, k)), options.scale / options.softcap);
    Value slope = map<SlopeOp>(x, x, b.getStringAttr("tanh"));
    return map<MulOp>(ds, {ds, slope});
  }
  Value dropped(Value x) {
    if (!op.getDropout())
      return x;
    SmallVector<Value> operands = {x};
    llvm::append_range(operands, op.getStep());
    return map<DropoutOp>(x, operands, op.getDropoutAttr(), op.getSeedAttr(),
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
  // The block may be behind all of a rank's queries. Later states are no less.
  bool mayHideAll = block.op.getCausal() || block.hidden.mayBeAll();
  if (!state.empty())
    row.m = block.template map<MaxOp>(row.m, {state[0], row.m});
  else if (mayHideAll)
    row.m = block.asNumber(row.m);
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
                                           MutableArrayRef<Value>) {
  KeyBlock<AttentionOp> block(*this, b, tile, operands);
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

Value AttentionOp::finishSweep(OpBuilder &b, ValueRange state,
                               unsigned result) {
  KeyBlock<AttentionOp> row(*this, b, {}, getOperands());
  Value total = state[1];
  if (result == 0) {
    // What has seen a key has at least the 1 of its largest score.
    if (row.hidden.mayBeAll())
      total = row.noLess(total, 1);
    return row.narrow(row.map<DivOp>(state[2], {state[2], total}));
  }
  Value level = row.scale(state[0]);
  Value log = row.map<LogOp>(total, total);
  return AddOp::create(b, getLoc(), getStatistic().getType(),
                       ValueRange{level, log});
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

StringRef AttentionGradientOp::getSweptIndex() { return getKey(); }

/// The type of a block's part of `result`, which carries the swept index as the
/// block's `operand` does.
static RankedTensorType partType(Value result, Value operand) {
  IdxAttr idx = getIdx(result);
  RankedTensorType like =
      tensorOver(indexNames(result.getType()), {typeOf(operand)});
  auto pending =
      IdxAttr::get(idx.getContext(), idx.getNames(), getIdx(like).getAxes(),
                   idx.getPending(), idx.getPendingMax(), /*unplaced=*/false,
                   idx.getLocal());
  return RankedTensorType::get(like.getShape(), like.getElementType(), pending);
}

/// There is no bias (tpsp-sweep refuses one): beside a low one the statistic
/// has lost the logarithm that weights are made of.
SmallVector<Value>
AttentionGradientOp::sweepBlock(OpBuilder &b, ValueRange operands,
                                TileAttr tile, ValueRange state,
                                MutableArrayRef<Value> parts) {
  KeyBlock<AttentionGradientOp> block(*this, b, tile, operands);
  Value q = operands[0], k = operands[1], v = operands[2];
  Value o = operands[3], statistic = operands[4], g = operands[5];
  Value scores = block.scale(block.scores());
  if (block.hidden.mayBeAll())
    statistic = block.asNumber(statistic);
  Value shifted = block.map<SubOp>(scores, {scores, statistic});
  Value weights = block.map<ExpOp>(shifted, shifted);
  if (!getGv().use_empty()) {
    Value kept = block.narrow(block.dropped(weights));
    parts[2] = block.einsum(partType(getGv(), v), kept, g);
  }
  if (getGq().use_empty() && getGk().use_empty())
    return {};
  Value slope = block.dropped(block.wide(block.product(g, v)));
  Value centred = block.map<SubOp>(slope, {slope, block.rowProduct(g, o)});
  Value dz = block.map<MulOp>(weights, {weights, centred});
  Value ds = block.narrow(block.slopeOfProduct(dz));
  if (!getGk().use_empty())
    parts[1] = block.einsum(partType(getGk(), k), ds, q);
  if (getGq().use_empty())
    return {};
  Value sum = block.wide(block.einsum(getGq().getType(), ds, k));
  if (!state.empty())
    sum = block.map<AddOp>(sum, {state[0], sum});
  return {sum};
}

Value AttentionGradientOp::finishSweep(OpBuilder &b, ValueRange state,
                                       unsigned) {
  KeyBlock<AttentionGradientOp> row(*this, b, {}, getOperands());
  return row.narrow(state.front());
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

/// The value's own feature, too, where rows have a statistic: that is no sum
/// over it, and the weights' slopes are. Asked before operands are counted.
template <typename Op>
static SmallVector<StringRef> wholeIndices(Op op, bool hasStatistic) {
  SmallVector<StringRef> whole = {op.getKey(), op.getFeature()};
  if (!hasStatistic || op->getNumOperands() < 3)
    return whole;
  for (StringRef name : indexNames(op.getOperand(2).getType()))
    if (!getIdx(op.getOperand(0)).dimOf(name))
      whole.push_back(name);
  return whole;
}
SmallVector<StringRef> AttentionOp::getWholeIndices() {
  return wholeIndices(*this, bool(getStatistic()));
}
SmallVector<StringRef> AttentionGradientOp::getWholeIndices() {
  return wholeIndices(*this, /*hasStatistic=*/true);
}

bool AttentionOp::mixesPrecision() {
  return getStatistic() || getNumOperands() > 3;
}

template <typename Op> static unsigned widthOfIntegers(Op op, unsigned i) {
  if (i >= op->getNumOperands())
    return 0;
  Value operand = op->getOperand(i);
  bool holdsIntegers = operand == op.getLengths() ||
                       llvm::is_contained(op.getSegments(), operand);
  return holdsIntegers ? 32 : 0;
}
unsigned AttentionOp::getIntegerWidth(unsigned i) {
  return widthOfIntegers(*this, i);
}
unsigned AttentionGradientOp::getIntegerWidth(unsigned i) {
  return widthOfIntegers(*this, i);
}

/// Segment numbers have no bound; as many keys may count as there are.
template <typename Op> static int64_t boundOfLengths(Op op, unsigned i) {
  if (op->getOperand(i) != op.getLengths())
    return 0;
  return extentOf(op->getOperand(1), op.getKey()) + 1;
}
int64_t AttentionOp::getIntegerBound(unsigned i) {
  return boundOfLengths(*this, i);
}
int64_t AttentionGradientOp::getIntegerBound(unsigned i) {
  return boundOfLengths(*this, i);
}

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
LogicalResult AttentionGradientOp::restrictPositions(StringRef index, int64_t,
                                                     int64_t, int64_t) {
  return restrictAttention(*this, index);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

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

/// With its statistic.
Operation *AttentionOp::withAdjointResults(OpBuilder &b) {
  if (getStatistic())
    return *this;
  Value q = getOperand(0);
  RankedTensorType row =
      tensorOver(rowIndices(q, getQuery(), getFeature()), {typeOf(q)});
  auto kept = AttentionOp::create(
      b, getLoc(),
      TypeRange{getResult().getType(),
                withElement(withoutPlacement(row), statisticType(q))},
      getInputs(), getProperties());
  kept->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  getResult().replaceAllUsesWith(kept.getResult());
  erase();
  return kept;
}

LogicalResult AttentionOp::buildAdjoint(OpBuilder &b, Value g,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> gradients) {
  if (getBias() && getSink())
    return emitOpError("has a bias and a sink, and its gradient with a bias "
                       "does not read the statistic; run tpsp-decompose-early "
                       "before differentiation");
  SmallVector<Type> types;
  SmallVector<Value> operands(getInputs().take_front(numTensors));
  for (Value operand : operands)
    types.push_back(withoutPlacement(typeOf(operand)));
  if (getBias() && needed[numTensors])
    types.push_back(withoutPlacement(typeOf(getBias())));
  Value result = completed(b, getResult());
  operands.append({result, getStatistic(), g});
  for (Value extra : getInputs().drop_front(numTensors))
    if (extra != getSink())
      operands.push_back(extra);
  auto attributes = cast<DictionaryAttr>((*this)->getPropertiesAsAttribute());
  auto gradient = AttentionGradientOp::create(b, getLoc(), types, operands,
                                              attributes.getValue());
  for (auto [i, isNeeded] : llvm::enumerate(needed))
    if (isNeeded && i < gradient->getNumResults())
      gradients[i] = gradient->getResult(i);
  if (getSink() && needed[numTensors])
    gradients[numTensors] =
        sinkGradient(b, getSink(), g, result, getStatistic());
  return success();
}

LogicalResult AttentionGradientOp::buildAdjoint(OpBuilder &, Value,
                                                ArrayRef<bool>,
                                                MutableArrayRef<Value>) {
  return emitOpError("has no gradient: tpsp differentiates once; keep it off "
                     "the path from the differentiated arguments");
}
