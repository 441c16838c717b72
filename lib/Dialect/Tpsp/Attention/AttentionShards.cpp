// Attention under a window whose queries and keys axes divide alike. A query
// sees the keys before it that its window reaches. So a shard needs its own
// keys and the last ones before them, the halo, which other shards hand on.
// Both indices are split into shards and positions within them. The shards
// become an index that queries and keys share, like the batch:
//
//   s@cp: (s.shard@cp, s.in)    t@cp: (s.shard@cp, t.in)
//   t.halo: the last window - 1 positions before a shard, then its own
//
// The halo is the end of the shard before or, if a shard is shorter, the shards
// between, too. Before the first shards are keys of the last ones, which
// `shard` hides.
#include "AttentionShards.h"

#include "Dialect/Tpsp/Operations/PartBuilder.h"

#include "tpsp/Algebra/ShardsIndex.h"
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// The number of keys before its own that a shard needs.
int64_t haloOf(AttentionOp op) { return int64_t(*op.getWindow()) - 1; }

class HaloBuilder : public AdjointBuilder {
public:
  HaloBuilder(OpBuilder &b, AttentionOp op, Shards shards)
      : AdjointBuilder(b, op.getLoc()), op(op), shards(shards),
        halo(haloOf(op)), shard(b.getStringAttr(shardsIndexOf(op.getQuery()))),
        query(named(op.getQuery(), ".in")), own(named(op.getKey(), ".in")) {}

  /// The attention within each shard.
  Value build() {
    SmallVector<Value> operands = {splitQueries(op.getOperand(0)),
                                   withHalo(op.getOperand(1)),
                                   withHalo(op.getOperand(2))};
    if (Value sink = op.getSink())
      operands.push_back(sink);
    if (ValueRange segments = op.getSegments(); !segments.empty())
      operands.append({splitQueries(segments[0]), withHalo(segments[1])});
    RankedTensorType type =
        replaced(typeOf(op.getResult()), op.getQuery(),
                 {{shard, shards.count}, {query, shards.positions}});
    auto within = AttentionOp::create(b, loc, TypeRange{type}, operands,
                                      op.getProperties());
    within->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    within.setQueryAttr(query);
    within.setKeyAttr(halo > 0 ? all() : own);
    within.setShardAttr(shard);
    return MergeOp::create(b, loc, op.getResult().getType(),
                           within.getResult());
  }

private:
  StringAttr named(StringRef index, const char *part) {
    return b.getStringAttr(index + Twine(part));
  }
  /// A shard's keys with its halo, and the part of it that one shard cuts off.
  StringAttr all() { return named(op.getKey(), ".halo"); }
  StringAttr end() { return named(op.getKey(), ".end"); }

  /// The unplaced type with the dimensions `parts` in place of `name`.
  static RankedTensorType replaced(RankedTensorType type, StringRef name,
                                   ArrayRef<IndexedDimension> parts) {
    return withDimensions(withoutPlacement(type), *getIdx(type).dimOf(name),
                          parts);
  }

  Value split(Value x, StringRef index, StringAttr in) {
    RankedTensorType type = replaced(
        typeOf(x), index, {{shard, shards.count}, {in, shards.positions}});
    return SplitOp::create(b, loc, type, x);
  }
  Value splitQueries(Value x) { return split(x, op.getQuery(), query); }

  /// A shard's own positions of `x`, with the halo before them.
  Value withHalo(Value x) {
    Value kept = split(x, op.getKey(), own);
    if (halo == 0)
      return kept;
    int64_t reached = llvm::divideCeil(halo, shards.positions);
    int64_t rest = halo - (reached - 1) * shards.positions;
    SmallVector<Value> parts = {handedOn(endOf(kept, rest), reached)};
    for (int64_t by = reached - 1; by > 0; --by)
      parts.push_back(handedOn(kept, by));
    parts.push_back(kept);
    RankedTensorType type =
        replaced(typeOf(kept), own, {{all(), halo + shards.positions}});
    return ConcatOp::create(b, loc, type, parts, all());
  }

  /// The last `count` positions of each shard.
  Value endOf(Value x, int64_t count) {
    if (count == shards.positions)
      return x;
    return CutOp::create(b, loc, replaced(typeOf(x), own, {{end(), count}}),
                         ValueRange{x}, own,
                         b.getI64IntegerAttr(shards.positions - count));
  }

  Value handedOn(Value x, int64_t by) {
    return map<HandOnOp>(x, x, shard, b.getI64IntegerAttr(by));
  }

  AttentionOp op;
  const Shards shards;
  const int64_t halo;
  const StringAttr shard, query, own;
};

} // namespace

bool AttentionOp::mayReadNeighbours() {
  // Dropout draws by position.
  return hidesEarlyKeys() && getScoreOptions().isSliding() && !getShard() &&
         !getStatistic() && !getBias() && !getLengths() && !draws();
}

std::optional<Shards> tpsp::shardsOf(AttentionOpInterface op, StringRef key) {
  Mesh mesh = meshOf(op);
  std::optional<AxisList> axes;
  const std::pair<unsigned, StringRef> divided[] = {
      {0, op.getRowIndex()}, {1, key}, {2, key}};
  for (auto [operand, index] : divided) {
    RankedTensorType type = typeOf(op->getOperand(operand));
    Placement placement = placementOf(type, mesh);
    const AxisList &own = placement.dims[*getIdx(type).dimOf(index)];
    if (flatCut(type.getShape(), placement, mesh) || (axes && own != *axes))
      return std::nullopt;
    axes = own;
  }
  int64_t count = mesh.groupSize(*axes);
  int64_t queries = extentOf(op->getOperand(0), op.getRowIndex());
  if (count == 1 || queries != extentOf(op->getOperand(1), key))
    return std::nullopt;
  IdxAttr idx = getIdx(op->getOperand(0));
  return Shards{count, queries / count,
                idx.getAxes()[*idx.dimOf(op.getRowIndex())]};
}

bool AttentionOp::readsNeighbours() {
  if (!mayReadNeighbours())
    return false;
  std::optional<Shards> shards = shardsOf(*this, getKey());
  return shards && haloOf(*this) < (shards->count - 1) * shards->positions;
}

Value AttentionOp::decomposeIntoShards(OpBuilder &b) {
  return HaloBuilder(b, *this, *shardsOf(*this, getKey())).build();
}
