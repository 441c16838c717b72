#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

Value PartBuilder::mul(Value like, Value x, Value y) {
  return map<MulOp>(like, {x, y});
}
Value PartBuilder::scale(Value x, double factor) {
  return map<ScaleOp>(x, x, b.getF64FloatAttr(factor));
}
Value PartBuilder::neg(Value x) { return map<NegOp>(x, x); }
Value PartBuilder::exp(Value x) { return map<ExpOp>(x, x); }
Value PartBuilder::square(Value x) { return map<SquareOp>(x, x); }
Value PartBuilder::noLess(Value x, double least) {
  return map<ClampOp>(x, x, b.getF64FloatAttr(least), FloatAttr());
}

Value PartBuilder::reduce(Value x, ArrayRef<StringRef> over, StringRef kind) {
  SmallVector<StringRef> kept = indexNamesBut(x.getType(), over);
  return ReduceOp::create(b, loc, made(tensorOver(kept, {typeOf(x)})),
                          ValueRange{x}, b.getStringAttr(kind));
}

Value PartBuilder::mean(Value x, ArrayRef<StringRef> over) {
  int64_t extent = positionsAlong(x.getType(), over);
  return scale(sum(x, over), 1.0 / static_cast<double>(extent));
}

Value PartBuilder::inverseRoot(Value x, llvm::APFloat eps) {
  Value shifted = map<ShiftOp>(x, x, b.getF64FloatAttr(eps.convertToDouble()));
  return map<RsqrtOp>(x, shifted);
}

Value AdjointBuilder::sumTo(Value x, Value like) {
  if (getIdx(x).getNames() == getIdx(like).getNames())
    return x;
  return ReduceOp::create(b, loc, unplaced(like), ValueRange{x},
                          b.getStringAttr("sum"));
}

Value AdjointBuilder::contract(ValueRange factors, Value like) {
  SmallVector<StringRef> carried;
  SmallVector<RankedTensorType> sources;
  for (Value factor : factors)
    sources.push_back(typeOf(factor));
  for (StringRef name : indexNames(like.getType()))
    if (llvm::any_of(factors, [&](Value f) { return getIdx(f).dimOf(name); }))
      carried.push_back(name);
  bool complete = carried.size() == getIdx(like).getRank();
  RankedTensorType type = complete
                              ? unplaced(like)
                              : withoutPlacement(tensorOver(carried, sources));
  Value product = EinsumOp::create(b, loc, type, factors);
  return complete ? product : map<BroadcastOp>(like, product);
}
