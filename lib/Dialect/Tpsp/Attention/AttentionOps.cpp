// Decomposes attention into simpler operations, and registers its family.
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "Dialect/Tpsp/Operations/HiddenKeys.h"
#include "mlir/IR/PatternMatch.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Optional operands
//===----------------------------------------------------------------------===//

static bool holdsIntegers(Value value) {
  return isa<IntegerType>(typeOf(value).getElementType());
}
static bool hasIndices(Value value) { return typeOf(value).getRank() > 0; }

Value tpsp::attentionBias(ValueRange operands, unsigned tensors) {
  bool isThere = operands.size() > tensors &&
                 !holdsIntegers(operands[tensors]) &&
                 hasIndices(operands[tensors]);
  return isThere ? operands[tensors] : Value();
}

/// The operands after the tensors and the bias.
static ValueRange behindBias(ValueRange operands, unsigned tensors) {
  size_t before = tensors + (attentionBias(operands, tensors) ? 1 : 0);
  return before < operands.size() ? operands.drop_front(before) : ValueRange();
}

/// The operands of integers: two tensors of segment numbers, one of lengths, or
/// both in this order.
static ValueRange attentionIntegers(ValueRange operands, unsigned tensors) {
  ValueRange rest = behindBias(operands, tensors).take_front(3);
  auto end = llvm::find_if_not(rest, holdsIntegers);
  return rest.take_front(std::distance(rest.begin(), end));
}

ValueRange tpsp::attentionSegments(ValueRange operands, unsigned tensors) {
  ValueRange integers = attentionIntegers(operands, tensors);
  return integers.size() < 2 ? ValueRange() : integers.take_front(2);
}

Value tpsp::attentionLengths(ValueRange operands, unsigned tensors) {
  ValueRange integers = attentionIntegers(operands, tensors);
  return integers.size() % 2 == 0 ? Value() : integers.back();
}

ValueRange tpsp::attentionStep(ValueRange operands, unsigned tensors) {
  return behindBias(operands, tensors)
      .drop_front(attentionIntegers(operands, tensors).size());
}

bool AttentionOp::hidesByWindow() {
  RankedTensorType queries = typeOf(getOperand(0));
  IdxAttr idx = getIdx(queries);
  return getWindow() &&
         (getShard() || idx.getLocal() ||
          int64_t(*getWindow()) < queries.getDimSize(*idx.dimOf(getQuery())));
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
        hidden(op, op.getBias(), op.getSegments(), op.getLengths()) {}

  /// The weights of v.
  Value weights() {
    Value q = op.getOperand(0), k = op.getOperand(1);
    Value x = parts.add<EinsumOp>({q, k});
    bool isPlain =
        !op.hidesByWindow() && !op.getSoftcap() && !hidden.mayBeAll();
    x = isPlain
            ? parts.add<SoftmaxOp>(
                  x, op.getKeyAttr(), op.getScaleAttr(),
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
    double cap = op.getScoreCap(), scale = op.getScoreScale();
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
    return parts.add<SoftmaxOp>(hidden.applyTo(x, parts), op.getKeyAttr(),
                                number(1), StringAttr(), hides);
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
void AttentionOp::stopDrawing() { removeDropoutAttr(); }
void AttentionGradientOp::stopDrawing() { removeDropoutAttr(); }

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
