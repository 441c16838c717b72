#include "HiddenKeys.h"

#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

using namespace mlir;
using namespace tpsp;

double tpsp::lowestNumber(Type element) {
  const llvm::fltSemantics &semantics =
      cast<FloatType>(element).getFloatSemantics();
  return APFloat::getLargest(semantics, /*Negative=*/true).convertToDouble();
}

Value HiddenKeys::applyTo(Value x, ScoreBuilder to) const {
  FloatAttr fill = to.b.getF64FloatAttr(hiddenScore);
  if (bias)
    x = to.add<AddBiasOp>({x, bias});
  if (lengths)
    x = to.add<LengthMaskOp>({x, lengths}, key, fill, tile);
  if (!segments.empty())
    x = to.add<SegmentMaskOp>({x, segments[0], segments[1]}, fill);
  if (mask.causal)
    x = to.add<CausalMaskOp>(x, query, key, fill, tile, mask, shard);
  return x;
}
