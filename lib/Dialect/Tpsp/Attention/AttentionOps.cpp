// Decomposes attention into simpler operations, and registers its family.
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "Dialect/Tpsp/Operations/HiddenKeys.h"
#include "mlir/IR/PatternMatch.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Optional operands
//===----------------------------------------------------------------------===//

static bool holdsIntegers(Value value) {
  return isa<IntegerType>(typeOf(value).getElementType());
}

OptionalOperands tpsp::optionalOperands(ValueRange operands, unsigned tensors,
                                        StringRef query, StringRef key) {
  OptionalOperands extras;
  ValueRange rest =
      operands.drop_front(std::min<size_t>(tensors, operands.size()));
  auto startsWithNumbers = [&](bool ofScores) {
    if (rest.empty() || holdsIntegers(rest[0]))
      return false;
    IdxAttr idx = getIdx(rest[0]);
    return idx.getRank() > 0 &&
           ofScores == (idx.dimOf(query) || idx.dimOf(key));
  };
  auto take = [&](size_t count) {
    ValueRange taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  };
  if (startsWithNumbers(/*ofScores=*/true))
    extras.bias = take(1)[0];
  if (startsWithNumbers(/*ofScores=*/false))
    extras.sink = take(1)[0];
  // Two tensors of segment numbers, one of lengths, or both in this order.
  ValueRange next = rest.take_front(std::min<size_t>(3, rest.size()));
  size_t integers =
      std::distance(next.begin(), llvm::find_if_not(next, holdsIntegers));
  if (integers >= 2)
    extras.segments = take(2);
  if (integers % 2 == 1)
    extras.lengths = take(1)[0];
  extras.step = rest;
  return extras;
}

bool AttentionOp::hidesEarlyKeys() {
  const PositionMask mask = getScoreOptions();
  int64_t queries = extentOf(getOperand(0), getQuery());
  return mask.hidesEarlyKeys() &&
         (getShard() || getIdx(getOperand(0)).getLocal() ||
          mask.mostKeys(queries) < queries);
}

//===----------------------------------------------------------------------===//
// Decomposition
//===----------------------------------------------------------------------===//

namespace {

/// Builds the parts of a decomposed attention, all of the scores' type.
class WrittenOut {
public:
  WrittenOut(AttentionOp op, OpBuilder &b)
      : op(op), b(b), parts{b, op.getLoc(), scoresType(),
                            // As large as the sequence squared, at a fraction
                            // of the block's work.
                            /*isRecomputed=*/true},
        hidden(op, op.getOptional()) {}

  /// The weights of v.
  Value weights() {
    Value q = op.getOperand(0), k = op.getOperand(1);
    Value x = parts.add<EinsumOp>({q, k});
    bool isPlain =
        !op.hidesEarlyKeys() && !op.getSoftcap() && !hidden.mayBeAll();
    x = isPlain
            ? parts.add<SoftmaxOp>(
                  withSink(x), op.getKeyAttr(), op.getScaleAttr(),
                  op.getCausal() ? op.getQueryAttr() : StringAttr(), UnitAttr())
            : softmaxOfSeen(scored(x));
    return op.getDropout() ? dropped(x) : x;
  }

private:
  FloatAttr number(double value) { return b.getF64FloatAttr(value); }

  RankedTensorType scoresType() {
    Value q = op.getOperand(0), k = op.getOperand(1);
    SmallVector<StringRef> names =
        rowIndices(q, op.getQuery(), op.getFeature());
    names.push_back(op.getKey());
    return withoutPlacement(tensorOver(names, {typeOf(q), typeOf(k)}));
  }

  /// The scores after scale and cap.
  Value scored(Value x) {
    const ScoreOptions options = op.getScoreOptions();
    double cap = options.softcap, scale = options.scale;
    if (cap != 0) {
      x = parts.add<ScaleOp>(x, number(scale / cap));
      x = parts.add<TanhOp>(x);
      x = parts.add<ScaleOp>(x, number(cap));
    } else if (scale != 1) {
      x = parts.add<ScaleOp>(x, number(scale));
    }
    return x;
  }

  Value softmaxOfSeen(Value x) {
    UnitAttr hides = hidden.mayBeAll() ? b.getUnitAttr() : UnitAttr();
    return parts.add<SoftmaxOp>(withSink(hidden.applyTo(x, parts)),
                                op.getKeyAttr(), number(1), StringAttr(),
                                hides);
  }

  /// The operands of a softmax.
  SmallVector<Value> withSink(Value x) {
    SmallVector<Value> operands = {x};
    if (Value sink = op.getSink())
      operands.push_back(sink);
    return operands;
  }

  Value dropped(Value x) {
    SmallVector<Value> operands = {x};
    llvm::append_range(operands, op.getStep());
    return parts.add<DropoutOp>(operands, op.getDropoutAttr(), op.getSeedAttr(),
                                StringAttr(), DenseI64ArrayAttr(), TileAttr());
  }

  AttentionOp op;
  OpBuilder &b;
  ScoreBuilder parts;
  HiddenKeys hidden;
};

} // namespace

Value AttentionOp::decompose(OpBuilder &b) {
  Value weights = WrittenOut(*this, b).weights();
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, getOperand(2)});
}

template <typename Op> static bool dropsWeights(Op op) {
  return op.getDropout() && !op.getDropout()->isZero();
}
bool AttentionOp::draws() { return dropsWeights(*this); }
bool AttentionGradientOp::draws() { return dropsWeights(*this); }

/// The step's number, which is last, goes with the dropout.
template <typename Op> static void stopDrawingIn(Op op) {
  op.removeDropoutAttr();
  op->eraseOperands(op->getNumOperands() - op.getStep().size(),
                    op.getStep().size());
}
void AttentionOp::stopDrawing() { stopDrawingIn(*this); }
void AttentionGradientOp::stopDrawing() { stopDrawingIn(*this); }

void AttentionOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getStatistic())
    setName(getStatistic(), "statistic");
}

void AttentionGradientOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getGq(), "gq");
  setName(getGk(), "gk");
  setName(getGv(), "gv");
  if (getGbias())
    setName(getGbias(), "gbias");
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.cpp.inc"
