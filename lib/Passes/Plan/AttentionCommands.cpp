// Calls of attention and of its gradients.
#include "CommandEmission.h"

#include "tpsp/Passes/Program/SourceName.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static DenseI64ArrayAttr sizesOf(Builder &b, const AttentionHeads &heads) {
  return b.getDenseI64ArrayAttr({heads.batch, heads.heads, heads.groups,
                                 heads.queries, heads.keys, heads.features,
                                 heads.valueFeatures});
}

static DenseI64ArrayAttr stridesOf(Builder &b, const AttentionHeads &heads) {
  SmallVector<int64_t> strides;
  for (const AttentionHeads::Layout *at :
       {&heads.q, &heads.k, &heads.v, &heads.o})
    strides.append({at->batch, at->head, at->group, at->row});
  return b.getDenseI64ArrayAttr(strides);
}

/// Gradients of q, k and v: the call makes all three, whoever wants them.
static SmallVector<Value> gradientBuffers(ProgramBuilder &to, Operation *op) {
  SmallVector<Value> gradients;
  for (auto [result, like] : llvm::zip(op->getResults(), op->getOperands()))
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
  DenseI64ArrayAttr sizes = sizesOf(to.b, match.heads);
  DenseI64ArrayAttr strides = stridesOf(to.b, match.heads);
  FloatAttr scale = to.b.getF64FloatAttr(op.getScoreScale());
  UnitAttr causal = op.masksLaterKeys() ? to.b.getUnitAttr() : UnitAttr();
  IntegerAttr stream = to.b.getI64IntegerAttr(0);
  Location loc = locationOf(op->getResult(0));
  SmallVector<Value> in = to.buffers.of(op->getOperands());
  if (op.isGradient()) {
    SmallVector<Value> out = gradientBuffers(to, op);
    plan::AttentionGradientOp::create(to.b, loc, in[0], in[1], in[2], in[3],
                                      in[4], in[5], out[0], out[1], out[2],
                                      sizes, strides, scale, causal, stream);
    return success();
  }
  Value o = to.buffers.define(op->getResult(0)), statistic;
  if (op->getNumResults() > 1 && !op->getResult(1).use_empty())
    statistic = to.buffers.define(op->getResult(1));
  plan::AttentionOp::create(to.b, loc, in[0], in[1], in[2], o, statistic, sizes,
                            strides, scale, causal, stream);
  return success();
}
