#include "ShardParts.h"

#include "tpsp/Algebra/ShardsIndex.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

ShardParts::ShardParts(OpBuilder &b, AttentionOpInterface op, Shards shards)
    : AdjointBuilder(b, op.getLoc()), shards(shards),
      isBalanced(op.masksLaterKeys()),
      shard(b.getStringAttr(shardsIndexOf(op.getRowIndex()))),
      places(placesIn(op)) {}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The unplaced type with the dimensions `parts` in place of `name`.
static RankedTensorType replaced(RankedTensorType type, StringRef name,
                                 ArrayRef<IndexedDimension> parts) {
  return withDimensions(withoutPlacement(type), *getIdx(type).dimOf(name),
                        parts);
}

StringAttr ShardParts::within(StringRef index) {
  return b.getStringAttr(index + ".in");
}
StringAttr ShardParts::half(StringRef index) {
  return b.getStringAttr(index + ".half");
}

RankedTensorType ShardParts::partType(RankedTensorType type, StringRef index) {
  int64_t positions = isBalanced ? shards.positions / 2 : shards.positions;
  return replaced(type, index,
                  {{shard, shards.count}, {within(index), positions}});
}

RankedTensorType ShardParts::withHalves(RankedTensorType type,
                                        StringRef index) {
  return replaced(type, index,
                  {{shard, shards.count},
                   {half(index), 2},
                   {within(index), shards.positions / 2}});
}

RankedTensorType ShardParts::placesIn(AttentionOpInterface op) {
  StringRef index = op.getRowIndex();
  RankedTensorType type = typeOf(op->getOperand(0));
  RankedTensorType sharded = withDimensions(
      type, *getIdx(type).dimOf(index),
      {{shard, shards.count, shards.axes}, {within(index), shards.positions}});
  return withElement(tensorOver({shard.getValue()}, {sharded}), b.getF32Type());
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Parts ShardParts::partsOf(Value x, StringRef index) {
  if (!isBalanced)
    return {SplitOp::create(b, loc, partType(unplaced(x), index), x)};
  Value halves = SplitOp::create(b, loc, withHalves(unplaced(x), index), x);
  Value own = taken(halves, index, 0);
  Value other = mirrored(taken(halves, index, 1));
  return {either(/*hop=*/0, own, other), either(/*hop=*/0, other, own)};
}

Value ShardParts::wholeOf(const Parts &parts, RankedTensorType type,
                          StringRef index) {
  if (!isBalanced)
    return MergeOp::create(b, loc, type, parts[0]);
  Value own = either(/*hop=*/0, parts[Early], parts[Late]);
  Value other = mirrored(either(/*hop=*/0, parts[Late], parts[Early]));
  Value halves =
      StackOp::create(b, loc, withHalves(withoutPlacement(type), index),
                      ValueRange{own, other}, half(index));
  return MergeOp::create(b, loc, type, halves);
}

Value ShardParts::taken(Value halves, StringRef index, int64_t at) {
  SmallVector<StringRef> kept =
      indexNamesBut(halves.getType(), half(index).getValue());
  return TakeOp::create(b, loc, tensorOver(kept, {unplaced(halves)}),
                        ValueRange{halves}, half(index),
                        b.getI64IntegerAttr(at));
}

Value ShardParts::mirrored(Value x) {
  return map<HandOnOp>(x, x, shard, b.getI64IntegerAttr(1), b.getUnitAttr());
}

Parts ShardParts::handedOn(const Parts &parts, int64_t by) {
  return llvm::map_to_vector<2>(parts, [&](Value part) {
    return map<HandOnOp>(part, part, shard, b.getI64IntegerAttr(by),
                         UnitAttr());
  });
}

Value ShardParts::ordered(Value x, ArrayRef<StringRef> names) {
  if (llvm::equal(indexNames(x.getType()), names))
    return x;
  return BroadcastOp::create(b, loc, tensorOver(names, {unplaced(x)}),
                             ValueRange{x});
}

Value ShardParts::converted(Value x, Type element) {
  if (typeOf(x).getElementType() == element)
    return x;
  return ConvertOp::create(b, loc, withElement(unplaced(x), element),
                           ValueRange{x});
}

//===----------------------------------------------------------------------===//
// Selections by shard
//===----------------------------------------------------------------------===//

Value ShardParts::either(int64_t hop, Value early, Value late) {
  return map<SelectOp>(early, {condition(hop, early, Early), early, late});
}

Value ShardParts::orElse(int64_t hop, Half half, Value x, double number) {
  Value other = ConstantOp::create(b, loc, tensorOver({}, {unplaced(x)}),
                                   ValueRange(), b.getF64FloatAttr(number));
  return map<SelectOp>(x, {condition(hop, x, half), x, other});
}

Value ShardParts::onlyIf(int64_t hop, Half half, Value x) {
  return mul(x, x, condition(hop, x, half));
}

Value ShardParts::condition(int64_t hop, Value like, Half half) {
  Type element = typeOf(like).getElementType();
  if (!isa<FloatType>(element))
    element = b.getF32Type();
  Value &known = conditions[{hop, half, element.getAsOpaquePointer()}];
  if (!known)
    known = converted(seesEarlyKeys(hop, half), element);
  return known;
}

/// Shard p has half 2p and half 2n - 1 - 2p, of which the lesser is early. That
/// of p is later than that of p - hop, around the end, if hop <= 2p < n + hop.
Value ShardParts::seesEarlyKeys(int64_t hop, Half half) {
  Value place = IotaOp::create(b, loc, places, ValueRange(), shard);
  Value first = map<ShiftOp>(place, scale(place, 2),
                             b.getF64FloatAttr(static_cast<double>(-hop)));
  Value inRange =
      map<ClampOp>(first, first, b.getF64FloatAttr(0),
                   b.getF64FloatAttr(static_cast<double>(shards.count - 1)));
  const char *relation = half == Early ? "equal" : "not_equal";
  return map<CompareOp>(first, {first, inRange}, b.getStringAttr(relation));
}
