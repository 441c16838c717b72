// Emits calls of attention and of its gradients.
#include "CommandEmission.h"

#include "Passes/Program/SourceName.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static DenseI64ArrayAttr sizesOf(Builder &b, const AttentionHeads &heads) {
  return b.getDenseI64ArrayAttr({heads.batch, heads.heads, heads.groups,
                                 heads.queries, heads.keys, heads.features,
                                 heads.valueFeatures});
}

static void append(SmallVectorImpl<int64_t> &strides,
                   const AttentionHeads::Layout &at) {
  strides.append({at.batch, at.head, at.group, at.row});
}

static DenseI64ArrayAttr stridesOf(Builder &b, const AttentionHeads &heads) {
  SmallVector<int64_t> strides;
  for (const AttentionHeads::Layout *at :
       {&heads.q, &heads.k, &heads.v, &heads.o})
    append(strides, *at);
  return b.getDenseI64ArrayAttr(strides);
}

static DenseI64ArrayAttr biasStridesOf(Builder &b, AttentionOpInterface op,
                                       const AttentionHeads &heads) {
  if (!op.getBias())
    return {};
  SmallVector<int64_t> strides;
  append(strides, heads.bias);
  strides.push_back(heads.bias.key);
  return b.getDenseI64ArrayAttr(strides);
}

static DenseI64ArrayAttr segmentStridesOf(Builder &b, AttentionOpInterface op,
                                          const AttentionHeads &heads) {
  if (op.getSegments().empty())
    return {};
  SmallVector<int64_t> strides;
  append(strides, heads.querySegments);
  append(strides, heads.keySegments);
  return b.getDenseI64ArrayAttr(strides);
}

static DenseI64ArrayAttr lengthStridesOf(Builder &b, AttentionOpInterface op,
                                         const AttentionHeads &heads) {
  if (!op.getLengths())
    return {};
  return b.getDenseI64ArrayAttr({heads.lengths.batch, heads.lengths.head});
}

/// Null if every rank has all queries, or if queries are not masked.
static DenseI64ArrayAttr queryStartOf(ProgramBuilder &to,
                                      AttentionOpInterface op) {
  auto type = typeOf(op->getOperand(0));
  IdxAttr idx = getIdx(type);
  auto axesOf = [&](StringRef index) {
    return idx.getAxes()[*idx.dimOf(index)];
  };
  StringRef shard = op.getShardIndex();
  ArrayAttr axes = axesOf(shard.empty() ? op.getRowIndex() : shard);
  TileAttr tile = op.getRowTile();
  if (!op.masksLaterKeys() || (!tile && axes.empty()))
    return {};
  return startOfPart(to, extentOf(type, op.getRowIndex()), axes, tile);
}

/// The buffers of a bias, of segment numbers and of lengths.
static SmallVector<Value> extrasOf(ProgramBuilder &to,
                                   AttentionOpInterface op) {
  SmallVector<Value> extras;
  if (Value bias = op.getBias())
    extras.push_back(bias);
  llvm::append_range(extras, op.getSegments());
  if (Value lengths = op.getLengths())
    extras.push_back(lengths);
  return to.buffers.of(extras);
}

/// Buffers of the gradients of q, k and v. The call computes all three,
/// whichever are used.
static SmallVector<Value> gradientBuffers(ProgramBuilder &to, Operation *op) {
  SmallVector<Value> gradients;
  for (auto [result, like] :
       llvm::zip(op->getResults().take_front(3), op->getOperands()))
    gradients.push_back(result.use_empty() ? Value(to.buffers.temporary(
                                                 like.getType(), like.getLoc()))
                                           : to.buffers.define(result));
  return gradients;
}

LogicalResult tpsp::emitAttention(ProgramBuilder &to, AttentionOpInterface op) {
  AttentionMatch match = op.matchHeads();
  if (!match.matches())
    return op->emitOpError("has no command, because ")
           << match.obstacle << "; run tpsp-sweep before converting to a "
           << "plan";
  if (op.getSink())
    return op->emitOpError("has a sink, which calls do not take; run "
                           "tpsp-decompose-late before converting to a plan");
  DenseI64ArrayAttr sizes = sizesOf(to.b, match.heads);
  DenseI64ArrayAttr strides = stridesOf(to.b, match.heads);
  DenseI64ArrayAttr ofBias = biasStridesOf(to.b, op, match.heads);
  DenseI64ArrayAttr ofSegments = segmentStridesOf(to.b, op, match.heads);
  DenseI64ArrayAttr ofLengths = lengthStridesOf(to.b, op, match.heads);
  DenseI64ArrayAttr start = queryStartOf(to, op);
  FloatAttr scale = to.b.getF64FloatAttr(op.getScoreScale());
  FloatAttr cap = to.b.getF64FloatAttr(op.getScoreCap());
  IntegerAttr window = to.b.getI64IntegerAttr(op.getScoreWindow());
  UnitAttr causal = op.masksLaterKeys() ? to.b.getUnitAttr() : UnitAttr();
  UnitAttr lastKeys =
      op.getShardIndex().empty() ? UnitAttr() : to.b.getUnitAttr();
  IntegerAttr stream = to.b.getI64IntegerAttr(0);
  Location loc = locationOf(op->getResult(0));
  SmallVector<Value> in = to.buffers.of(op->getOperands());
  SmallVector<Value> extras = extrasOf(to, op);
  auto madeIfRead = [&](unsigned number) {
    bool isRead =
        op->getNumResults() > number && !op->getResult(number).use_empty();
    return isRead ? to.buffers.define(op->getResult(number)) : Value();
  };
  if (op.isGradient()) {
    SmallVector<Value> out = gradientBuffers(to, op);
    Value ofBiasMade = madeIfRead(3);
    plan::AttentionGradientOp::create(
        to.b, loc, in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1],
        out[2], extras, ofBiasMade, sizes, strides, scale, causal, stream,
        window, cap, ofBias, ofSegments, ofLengths, start, lastKeys);
    return success();
  }
  Value o = to.buffers.define(op->getResult(0));
  Value statistic = madeIfRead(1);
  plan::AttentionOp::create(to.b, loc, in[0], in[1], in[2], o, statistic,
                            extras, sizes, strides, scale, causal, stream,
                            window, cap, ofBias, ofSegments, ofLengths, start,
                            lastKeys);
  return success();
}
