// Attention in simpler operations, and the registration of its family.
#include "tpsp/Dialect/Tpsp/AttentionOps.h"
#include "mlir/IR/PatternMatch.h"
#include "tpsp/Dialect/Tpsp/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/RowOps.h"

using namespace mlir;
using namespace tpsp;

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
  SmallVector<Value> drawn = {weights};
  llvm::append_range(drawn, stepOperand());
  if (getDropout())
    parts.push_back(weights = DropoutOp::create(
                        b, getLoc(), scoresType, drawn, getDropoutAttr(),
                        getSeedAttr(), StringAttr(), DenseI64ArrayAttr(),
                        TileAttr()));
  // As large as the sequence squared, for a fraction of the block's work.
  for (Value part : parts)
    part.getDefiningOp()->setAttr(recomputeAttrName, b.getUnitAttr());
  return EinsumOp::create(b, getLoc(), getResult().getType(),
                          ValueRange{weights, v});
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
