// Attention in simpler operations, and the registration of its family.
#include "tpsp/Dialect/Tpsp/AttentionOps.h"
#include "mlir/IR/PatternMatch.h"
#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/RowOps.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// What may follow the tensors
//===----------------------------------------------------------------------===//

static bool holdsIntegers(Value value) {
  return isa<IntegerType>(
      cast<RankedTensorType>(value.getType()).getElementType());
}
static bool hasIndices(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() > 0;
}

Value tpsp::attentionBias(ValueRange operands, unsigned tensors) {
  bool isThere = operands.size() > tensors &&
                 !holdsIntegers(operands[tensors]) &&
                 hasIndices(operands[tensors]);
  return isThere ? operands[tensors] : Value();
}

ValueRange tpsp::attentionSegments(ValueRange operands, unsigned tensors) {
  size_t first = tensors + (attentionBias(operands, tensors) ? 1 : 0),
         count = 0;
  while (first + count < operands.size() &&
         holdsIntegers(operands[first + count]))
    ++count;
  return count ? operands.slice(first, count) : ValueRange();
}

ValueRange tpsp::attentionStep(ValueRange operands, unsigned tensors) {
  size_t before = tensors + (attentionBias(operands, tensors) ? 1 : 0) +
                  attentionSegments(operands, tensors).size();
  return before < operands.size() ? operands.drop_front(before) : ValueRange();
}

bool AttentionOp::hidesByWindow() {
  RankedTensorType queries = cast<RankedTensorType>(getOperand(0).getType());
  IdxAttr idx = getIdx(queries);
  return getWindow() &&
         (idx.getLocal() ||
          int64_t(*getWindow()) < queries.getDimSize(*idx.dimOf(getQuery())));
}

//===----------------------------------------------------------------------===//
// In simpler operations
//===----------------------------------------------------------------------===//

namespace {

/// The parts of an attention that is written out, all of scores' type.
class WrittenOut {
public:
  WrittenOut(AttentionOp op, OpBuilder &b) : op(op), b(b), type(scoresType()) {}

  /// What v is weighted by.
  Value weights() {
    Value q = op.getOperand(0), k = op.getOperand(1);
    Value x = add<EinsumOp>(ValueRange{q, k});
    bool isPlain = !op.hidesByWindow() && !op.getSoftcap() && !op.getBias() &&
                   op.getSegments().empty();
    x = isPlain
            ? add<SoftmaxOp>(x, op.getKeyAttr(), op.getScaleAttr(),
                             op.getCausal() ? op.getQueryAttr() : StringAttr())
            : softmaxOfMasked(scored(x));
    return op.getDropout() ? dropped(x) : x;
  }

private:
  template <typename Part, typename... Args>
  Value add(ValueRange operands, Args... args) {
    Value part = Part::create(b, op.getLoc(), type, operands, args...);
    // As large as the sequence squared, for a fraction of the block's work.
    part.getDefiningOp()->setAttr(recomputeAttrName, b.getUnitAttr());
    return part;
  }
  FloatAttr number(double value) { return b.getF64FloatAttr(value); }

  RankedTensorType scoresType() {
    Value q = op.getOperand(0), k = op.getOperand(1);
    SmallVector<StringRef> names =
        rowIndices(q, op.getQuery(), op.getFeature());
    names.push_back(op.getKey());
    return withoutPlacement(
        tensorOver(names, {cast<RankedTensorType>(q.getType()),
                           cast<RankedTensorType>(k.getType())}));
  }

  /// Scaled, capped, with the bias.
  Value scored(Value x) {
    double cap = op.getScoreCap(), scale = op.getScoreScale();
    if (cap != 0) {
      x = add<ScaleOp>(x, number(scale / cap));
      x = add<TanhOp>(x);
      x = add<ScaleOp>(x, number(cap));
    } else if (scale != 1) {
      x = add<ScaleOp>(x, number(scale));
    }
    return op.getBias() ? add<AddOp>(ValueRange{x, op.getBias()}) : x;
  }

  /// What is not seen is `fill`.
  Value masked(Value x, double fill) {
    ValueRange segments = op.getSegments();
    if (!segments.empty())
      x = add<SegmentMaskOp>(ValueRange{x, segments[0], segments[1]},
                             number(fill));
    if (!op.getCausal())
      return x;
    return add<CausalMaskOp>(x, op.getQueryAttr(), op.getKeyAttr(),
                             number(fill), TileAttr(), op.getWindowAttr());
  }

  /// A row that sees no key is zeros: its softmax is not.
  Value softmaxOfMasked(Value x) {
    x = add<SoftmaxOp>(masked(x, maskedScore), op.getKeyAttr(), number(1),
                       StringAttr());
    return op.getSegments().empty() ? x : masked(x, 0);
  }

  Value dropped(Value x) {
    SmallVector<Value> operands = {x};
    llvm::append_range(operands, op.getStep());
    return add<DropoutOp>(operands, op.getDropoutAttr(), op.getSeedAttr(),
                          StringAttr(), DenseI64ArrayAttr(), TileAttr());
  }

  AttentionOp op;
  OpBuilder &b;
  RankedTensorType type;
};

} // namespace

Value AttentionOp::decompose(OpBuilder &b) {
  Value weights = WrittenOut(*this, b).weights();
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, getOperand(2)});
}

bool AttentionOp::decomposesEarly() { return true; }

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

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void TpspDialect::registerAttentionOps() {
  addOperations<
#define GET_OP_LIST
#include "tpsp/Dialect/Tpsp/AttentionOps.cpp.inc"
      >();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/AttentionOps.cpp.inc"
