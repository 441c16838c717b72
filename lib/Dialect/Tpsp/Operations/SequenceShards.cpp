// Decomposes scan, cumsum and delay along an index that an axis divides. The
// index is split into shards and positions within them. Within a shard the
// operation stays itself. A shard passes one position to the next, or as many
// as a delay. Only these are gathered, because an operation along the shards
// needs them whole.
//
//   s@cp: (shard@cp, in)
//   scan:   y = z + p c[shard - 1], where z is the scan within a shard, p the
//           product of a up to here within it, and c[shard] the state after
//           it: the scan of z's last positions by p's last positions.
//   cumsum: the same with p = 1.
//   delay:  the delay within a shard, and in its first positions the last ones
//           of the shard before.
#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include <cstdlib>

using namespace mlir;
using namespace tpsp;

namespace {

/// Builds the parts of an operation along `index`. All values are unplaced:
/// propagation puts the shards on the axes that divide the index.
class ShardBuilder : public AdjointBuilder {
public:
  /// `op`: the operation whose result's index is divided.
  ShardBuilder(OpBuilder &b, Operation *op, StringRef index)
      : AdjointBuilder(b, op->getLoc()), result(op->getResult(0)), index(index),
        // Not shardsIndexOf(): totals of shards are small, and may be whole.
        shard(named(".span")), in(named(".in")) {
    RankedTensorType type = typeOf(op->getOperand(0));
    unsigned dim = *getIdx(type).dimOf(index);
    shards = meshOf(op).groupSize(placementOf(type, meshOf(op)).dims[dim]);
    length = type.getDimSize(dim) / shards;
  }

  Value split(Value x) {
    return SplitOp::create(
        b, loc, replaced(typeOf(x), index, {{shard, shards}, {in, length}}), x);
  }
  Value merge(Value x) { return MergeOp::create(b, loc, result.getType(), x); }

  /// `count` positions from `from` on within each shard, under another index
  /// name.
  Value cut(Value x, int64_t from, int64_t count) {
    return CutOp::create(b, loc, replaced(typeOf(x), in, {{edge(), count}}),
                         ValueRange{x}, in, b.getI64IntegerAttr(from));
  }
  /// Puts such positions back in their place, with 0 in all others.
  Value pad(Value x, int64_t before) {
    return PadOp::create(b, loc, replaced(typeOf(x), edge(), {{in, length}}),
                         ValueRange{x}, in, b.getI64IntegerAttr(before),
                         b.getF64FloatAttr(0));
  }
  /// The position at which each shard begins or, with `atEnd`, ends.
  Value end(Value x, bool atEnd) {
    return sum(cut(x, atEnd ? length - 1 : 0, 1), {edge().getValue()});
  }
  Value delay(Value x, StringAttr along, int64_t by) {
    return by == 0 ? x : map<DelayOp>(x, x, along, b.getI64IntegerAttr(by));
  }

  Value result;
  StringRef index;
  StringAttr shard, in;
  /// The number of shards, and the positions of each.
  int64_t shards, length;

private:
  StringAttr named(const char *part) {
    return b.getStringAttr(index + Twine(part));
  }
  StringAttr edge() { return named(".edge"); }

  /// The unplaced type with the dimensions `parts` in place of `name`.
  static RankedTensorType replaced(RankedTensorType type, StringRef name,
                                   ArrayRef<IndexedDimension> parts) {
    return withDimensions(withoutPlacement(type), *getIdx(type).dimOf(name),
                          parts);
  }
};

} // namespace

Value ScanOp::decompose(OpBuilder &builder) {
  ShardBuilder b(builder, *this, getIndex());
  bool isForward = !getReverse();
  Value x = b.split(getOperand(0)), a = b.split(getOperand(1));
  auto scan = [&](Value of, Value by, StringAttr along) {
    return b.map<ScanOp>(of, {of, by}, along, getReverseAttr());
  };
  Value within = scan(x, a, b.in);
  // The scan of a's first position alone is the product of all positions so
  // far.
  int64_t first = isForward ? 0 : b.length - 1;
  Value product = scan(b.pad(b.cut(a, first, 1), first), a, b.in);
  Value behind =
      scan(b.end(within, isForward), b.end(product, isForward), b.shard);
  Value before = b.delay(behind, b.shard, isForward ? 1 : -1);
  Value carried = b.mul(x, product, before);
  return b.merge(b.map<AddOp>(x, {within, carried}));
}

Value CumsumOp::decompose(OpBuilder &builder) {
  ShardBuilder b(builder, *this, getIndex());
  Value x = b.split(getOperand(0));
  Value within = b.map<CumsumOp>(x, x, b.in, getReverseAttr());
  Value total = b.sum(x, {b.in.getValue()});
  Value behind = b.map<CumsumOp>(total, total, b.shard, getReverseAttr());
  Value before = b.delay(behind, b.shard, getReverse() ? -1 : 1);
  return b.merge(b.map<AddOp>(x, {within, before}));
}

Value DelayOp::decompose(OpBuilder &builder) {
  ShardBuilder b(builder, *this, getIndex());
  int64_t by = getPositions(), sign = by < 0 ? -1 : 1;
  int64_t shards = std::abs(by) / b.length, rest = std::abs(by) % b.length;
  Value x = b.split(getOperand(0));
  Value within = b.delay(x, b.in, sign * rest);
  Value moved = b.delay(within, b.shard, sign * shards);
  if (rest == 0)
    return b.merge(moved);
  // The positions that leave a shard arrive at the opposite end of another.
  int64_t leave = sign > 0 ? b.length - rest : 0;
  int64_t arrive = sign > 0 ? 0 : b.length - rest;
  Value crossing = b.delay(b.cut(x, leave, rest), b.shard, sign * (shards + 1));
  return b.merge(b.map<AddOp>(x, {moved, b.pad(crossing, arrive)}));
}
