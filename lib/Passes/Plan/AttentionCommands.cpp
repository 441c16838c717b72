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

/// Creates a call, with `operands` for each of the operands of `Call`. A null
/// operand is absent.
template <typename Call>
static void createCall(ProgramBuilder &to, AttentionOpInterface op,
                       const AttentionHeads &heads,
                       ArrayRef<SmallVector<Value>> operands) {
  typename Call::Properties properties;
  setOptions<Call>(to.b, op.getScoreOptions(), properties);
  properties.setSizes(sizesOf(to.b, heads));
  properties.setStrides(stridesOf(to.b, heads));
  properties.setStream(to.b.getI64IntegerAttr(0));
  properties.setBiasStrides(biasStridesOf(to.b, op, heads));
  properties.setSegmentStrides(segmentStridesOf(to.b, op, heads));
  properties.setLengthStrides(lengthStridesOf(to.b, op, heads));
  properties.setQueryStart(queryStartOf(to, op));
  if (!op.getShardIndex().empty())
    properties.setLastKeys(to.b.getUnitAttr());
  SmallVector<Value> all;
  for (auto [segment, size] :
       llvm::zip_equal(operands, properties.operandSegmentSizes)) {
    size_t before = all.size();
    llvm::append_range(all, llvm::make_filter_range(segment, [](Value value) {
                         return bool(value);
                       }));
    size = int32_t(all.size() - before);
  }
  Call::create(to.b, locationOf(op->getResult(0)), TypeRange(), all,
               properties);
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
  SmallVector<Value> in = to.buffers.of(op->getOperands());
  SmallVector<Value> extras = extrasOf(to, op);
  auto madeIfRead = [&](unsigned number) {
    bool isRead =
        op->getNumResults() > number && !op->getResult(number).use_empty();
    return isRead ? to.buffers.define(op->getResult(number)) : Value();
  };
  if (op.isGradient()) {
    SmallVector<Value> out = gradientBuffers(to, op);
    createCall<plan::AttentionGradientOp>(to, op, match.heads,
                                          {{in[0]},
                                           {in[1]},
                                           {in[2]},
                                           {in[3]},
                                           {in[4]},
                                           {in[5]},
                                           {out[0]},
                                           {out[1]},
                                           {out[2]},
                                           extras,
                                           {madeIfRead(3)}});
    return success();
  }
  Value o = to.buffers.define(op->getResult(0));
  createCall<plan::AttentionOp>(
      to, op, match.heads,
      {{in[0]}, {in[1]}, {in[2]}, {o}, {madeIfRead(1)}, extras});
  return success();
}
