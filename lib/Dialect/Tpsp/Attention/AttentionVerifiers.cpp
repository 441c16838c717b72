// The constraints of attention and its gradient.
#include "Dialect/Tpsp/IR/VerifierRules.h"

#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace tpsp;

SmallVector<StringRef> tpsp::rowIndices(Value q, StringRef query,
                                        StringRef feature) {
  SmallVector<StringRef> names;
  for (StringRef name : indexNames(q.getType()))
    if (name != feature && name != query)
      names.push_back(name);
  names.push_back(query);
  return names;
}

Type tpsp::statisticType(Value q) {
  Type element = typeOf(q).getElementType();
  return element.isF64() ? element : Float32Type::get(q.getContext());
}

/// (A1), (A3), (A4) for queries and keys.
template <typename Op> static LogicalResult verifyScores(Op op) {
  Value q = op.getOperand(0), k = op.getOperand(1);
  if (failed(verifyHasIndex(op, 0, op.getQuery(), "query")) ||
      failed(verifyHasIndex(op, 0, op.getFeature(), "feature")) ||
      failed(verifyHasIndex(op, 1, op.getKey(), "key")) ||
      failed(verifyHasIndex(op, 1, op.getFeature(), "feature")) ||
      failed(verifyLacksIndex(op, q, op.getKey(), "the query operand")) ||
      failed(verifyLacksIndex(op, k, op.getQuery(), "the key operand")))
    return failure();
  for (StringRef name : indexNames(k.getType()))
    if (name != op.getKey() && !getIdx(q).dimOf(name))
      return op.emitOpError("the key operand has index '")
             << name << "', which the query operand lacks; remove it, or split "
             << "the query's (tpsp.split)";
  if (failed(verifyScale(op, op.getScale())))
    return failure();
  if (op.getDropout() && !(op.getDropout()->convertToDouble() >= 0 &&
                           op.getDropout()->convertToDouble() < 1))
    return op.emitOpError("dropout ") << op.getDropout()->convertToDouble()
                                      << " is not a probability below 1";
  return success();
}

/// (A7)
template <typename Op> static LogicalResult verifyMask(Op op) {
  if (failed(verifyWindow(op, op.getWindowAttr())))
    return failure();
  if (op.getWindow() && !op.getCausal())
    return op.emitOpError("window = ")
           << *op.getWindow() << " is of a mask that it does not have; add "
           << "`causal`";
  int64_t queries = extentOf(op.getOperand(0), op.getQuery());
  int64_t keys = extentOf(op.getOperand(1), op.getKey());
  if (op.getWindow() && queries > keys)
    return op.emitOpError("has a window, and ")
           << queries << " queries for " << keys
           << " keys: the last ones may see none; take as many keys";
  double cap = op.getScoreOptions().softcap;
  if (!op.getSoftcap() || (cap > 0 && std::isfinite(cap)))
    return success();
  return op.emitOpError("softcap must be positive, and is ") << cap;
}

/// (A14)
template <typename Op> static LogicalResult verifyChunk(Op op) {
  IntegerAttr chunk = op.getChunkAttr();
  if (!chunk)
    return success();
  if (chunk.getInt() < 1)
    return op.emitOpError("chunk = ")
           << chunk.getInt()
           << ", but a query sees itself: a chunk is at least 1";
  if (!op.getCausal() || op.getShard())
    return op.emitOpError("chunk = ")
           << chunk.getInt() << " needs `causal`, and positions of all keys; "
           << (op.getShard() ? "remove `shard`" : "add `causal`");
  int64_t queries = extentOf(op.getOperand(0), op.getQuery());
  int64_t keys = extentOf(op.getOperand(1), op.getKey());
  if (queries <= keys)
    return success();
  return op.emitOpError("has chunks, and ")
         << queries << " queries for " << keys
         << " keys: the last ones may see none; take as many keys";
}

/// Verifies that each index of `tensor`, called `what`, is one of `allowed`.
static LogicalResult verifyIndicesAmong(Operation *op, Value tensor,
                                        ArrayRef<StringRef> allowed,
                                        StringRef what) {
  for (StringRef name : indexNames(tensor.getType()))
    if (!llvm::is_contained(allowed, name))
      return op->emitOpError()
             << what << " has index '" << name << "', which is none of ["
             << llvm::join(allowed, ", ")
             << "]; sum over it, or rename it (tpsp.rename)";
  return success();
}

/// (A8)
template <typename Op> static LogicalResult verifyBias(Op op) {
  if (!op.getBias())
    return success();
  SmallVector<StringRef> allowed =
      rowIndices(op.getOperand(0), op.getQuery(), op.getFeature());
  allowed.push_back(op.getKey());
  Value tensors[] = {op.getOperand(0), op.getBias()};
  if (failed(verifyIndicesAmong(op, op.getBias(), allowed, "the bias")))
    return failure();
  return verifyOnePrecision(op, tensors);
}

/// (A13)
static LogicalResult verifySink(AttentionOp op) {
  if (!op.getSink())
    return success();
  SmallVector<StringRef> allowed = indexNamesBut(
      op.getOperand(0).getType(), {op.getQuery(), op.getFeature()});
  if (failed(verifyIndicesAmong(op, op.getSink(), allowed, "the sink")))
    return failure();
  if (op.getBias() && op.getStatistic())
    return op.emitOpError("has a bias, a sink and a statistic, which gradients "
                          "with a bias do not read; leave the statistic out");
  Value tensors[] = {op.getOperand(0), op.getSink()};
  return verifyOnePrecision(op, tensors);
}
static LogicalResult verifySink(AttentionGradientOp op) {
  if (!op.getSink())
    return success();
  return op.emitOpError("has a sink [")
         << subscripts(op.getSink().getType())
         << "], which the result and the statistic already contain; remove it";
}

/// (A9)
template <typename Op> static LogicalResult verifySegments(Op op) {
  ValueRange segments = op.getSegments();
  if (segments.empty())
    return success();
  const std::pair<StringRef, StringRef> roles[] = {
      {op.getQuery(), "the segment numbers of the queries"},
      {op.getKey(), "the segment numbers of the keys"}};
  for (unsigned i : {0, 1}) {
    auto [own, what] = roles[i];
    if (!getIdx(segments[i]).dimOf(own))
      return op.emitOpError() << what << " lack index '" << own << "'";
    SmallVector<StringRef> allowed =
        indexNamesBut(op.getOperand(i).getType(), op.getFeature());
    if (failed(verifyIndicesAmong(op, segments[i], allowed, what)))
      return failure();
  }
  return success();
}

/// (A11)
template <typename Op> static LogicalResult verifyLengths(Op op) {
  Value lengths = op.getLengths();
  if (!lengths)
    return success();
  SmallVector<StringRef> shared;
  for (StringRef name : indexNames(op.getOperand(1).getType()))
    if (name != op.getFeature() && getIdx(op.getOperand(0)).dimOf(name))
      shared.push_back(name);
  for (StringRef name : indexNames(lengths.getType()))
    if (!llvm::is_contained(shared, name))
      return op.emitOpError("the lengths of keys have index '")
             << name << "', which is none of [" << llvm::join(shared, ", ")
             << "], those of both queries and keys; give one length for all "
             << "of it, or segment numbers as two tensors";
  return success();
}

/// (A10)
template <typename Op> static LogicalResult verifyRows(Op op) {
  TileAttr tile = op.getTileAttr();
  if (!tile)
    return success();
  if (tile.getIndex().getValue() != op.getQuery())
    return op.emitOpError("has a tile of '")
           << tile.getIndex().getValue() << "', and its rows are of '"
           << op.getQuery() << "'";
  FailureOr<int64_t> ranks = verifyTilePlace(op, tile);
  if (failed(ranks))
    return failure();
  int64_t last = tile.getOffset() + (*ranks - 1) * tile.getExtent();
  if (tile.getShift() >= 0 && std::min(tile.getOffset(), last) >= 0)
    return success();
  return op.emitOpError("has a tile that is shifted by ")
         << tile.getShift() << " and begins at " << tile.getOffset()
         << " on the first rank and at " << last
         << " on the last; none of these is negative";
}

/// (A12)
template <typename Op> static LogicalResult verifyShards(Op op) {
  StringRef shard = op.getShardIndex();
  if (shard.empty())
    return success();
  if (failed(verifyHasIndex(op, 0, shard, "shard")) ||
      failed(verifyHasIndex(op, 1, shard, "shard")) ||
      failed(verifyHasIndex(op, 2, shard, "shard")))
    return failure();
  if (!op.getCausal() || op.getBias() || op.getLengths())
    return op.emitOpError("has shards of keys, which need `causal`, no bias "
                          "and no lengths");
  int64_t queries = extentOf(op.getOperand(0), op.getQuery());
  int64_t keys = extentOf(op.getOperand(1), op.getKey());
  if (keys >= queries)
    return success();
  return op.emitOpError("has shards of ")
         << queries << " queries and " << keys
         << " keys; a shard has the keys of its own queries";
}

/// Verifies that the optional operands are in their order, and that only the
/// step's number comes last.
template <typename Op> static LogicalResult verifyOrder(Op op) {
  unsigned count = op->getNumOperands();
  if (count >= Op::numTensors && op.getStep().size() <= 1)
    return success();
  return op.emitOpError("takes ")
         << unsigned(Op::numTensors)
         << " tensors, then a bias, a sink, two tensors of segment numbers, "
            "lengths of keys and the step's number, each where it is there; it "
            "has "
         << count << " operands, or has them in another order";
}

/// (A4): a number without an index is the step's, so a sink cannot be one.
template <typename Op> static LogicalResult verifyStepOf(Op op) {
  if (op.getStep().empty())
    return success();
  if (failed(verifyStep(op, op->getNumOperands() - 1)))
    return failure();
  if (!op.getDropout())
    return op.emitOpError(
        "takes a number without an index only with dropout, as the number of "
        "the step; a sink has an index, such as the heads'");
  return success();
}

/// (A4), (A7)-(A14)
template <typename Op> static LogicalResult verifyExtras(Op op) {
  if (failed(verifyStepOf(op)) || failed(verifyMask(op)) ||
      failed(verifyChunk(op)) || failed(verifyBias(op)) ||
      failed(verifySink(op)) || failed(verifyRows(op)) ||
      failed(verifyShards(op)))
    return failure();
  return failed(verifySegments(op)) ? failure() : verifyLengths(op);
}

/// (A1), (A3) for values, whose own feature `result` has.
template <typename Op> static LogicalResult verifyValues(Op op, Value result) {
  Value q = op.getOperand(0), v = op.getOperand(2);
  if (failed(verifyHasIndex(op, 2, op.getKey(), "key")) ||
      failed(verifyLacksIndex(op, v, op.getQuery(), "the value operand")))
    return failure();
  StringRef ownFeature;
  for (StringRef name : indexNames(v.getType())) {
    if (name == op.getKey() || getIdx(q).dimOf(name))
      continue;
    if (!ownFeature.empty() || !getIdx(result).dimOf(name))
      return op.emitOpError("the value operand has index '")
             << name << "', which the query operand lacks and which is not its "
             << "one feature in the result; remove it";
    ownFeature = name;
  }
  return success();
}

/// (A2) for an operand of which only the index `summed` is summed over.
static LogicalResult verifyNotSummed(AttentionOp op, unsigned operand,
                                     StringRef summed, StringRef what) {
  for (StringRef name : indexNames(op->getOperand(operand).getType()))
    if (name != summed && !getIdx(op.getResult()).dimOf(name))
      return op.emitOpError("the result lacks index '")
             << name << "' of " << what
             << "; attention sums over keys alone, so sum the result after it "
                "(tpsp.reduce)";
  return success();
}

/// (A5)
template <typename Op>
static LogicalResult verifyStatistic(Op op, Value statistic) {
  auto type = typeOf(statistic);
  SmallVector<StringRef> rows =
      rowIndices(op.getOperand(0), op.getQuery(), op.getFeature());
  if (indexNames(type) != rows)
    return op.emitOpError("the statistic has indices [")
           << subscripts(type) << "], but a row of scores has ["
           << llvm::join(rows, ", ") << "]";
  if (type.getElementType() == statisticType(op.getOperand(0)))
    return success();
  return op.emitOpError("the statistic is of ")
         << type.getElementType() << ", but what rows are normalised by is in "
         << statisticType(op.getOperand(0));
}

LogicalResult AttentionOp::verify() {
  if (failed(verifyOrder(*this)) || failed(verifyScores(*this)) ||
      failed(verifyExtras(*this)) ||
      failed(verifyLacksIndex(*this, getResult(), getKey(), "the result")))
    return failure();
  if (!getIdx(getResult()).dimOf(getQuery())) // (A2)
    return emitOpError("the result lacks the query index '")
           << getQuery() << "'";
  if (failed(verifyNotSummed(*this, 0, getFeature(), "the queries")) ||
      failed(verifyValues(*this, getResult())) ||
      failed(verifyNotSummed(*this, 2, getKey(), "the values")))
    return failure();
  Value tensors[] = {getOperand(0), getOperand(1), getOperand(2), getResult()};
  if (failed(verifyOnePrecision(*this, tensors))) // (I7)
    return failure();
  return getStatistic() ? verifyStatistic(*this, getStatistic()) : success();
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyOrder(*this)) || failed(verifyScores(*this)) ||
      failed(verifyExtras(*this)) ||
      failed(verifyValues(*this, getOperand(3))) ||
      failed(verifyStatistic(*this, getOperand(4))))
    return failure();
  SmallVector<Value> tensors = {getOperand(0), getOperand(1), getOperand(2),
                                getOperand(3), getOperand(5)};
  llvm::append_range(tensors, getResults());
  if (failed(verifyOnePrecision(*this, tensors)))
    return failure();
  Value o = getOperand(3), g = getOperand(5); // (A6)
  if (getIdx(g).getNames() != getIdx(o).getNames())
    return emitOpError("operand #3 is attention's result, and has the indices "
                       "of its gradient, [")
           << subscripts(g.getType()) << "], not [" << subscripts(o.getType())
           << "]";
  if (getGbias() && !getBias())
    return emitOpError("has a gradient of a bias, and no bias");
  SmallVector<Value> own(getInputs().take_front(3));
  own.push_back(getBias());
  for (auto [i, result] : llvm::enumerate(getResults()))
    if (getIdx(own[i]).getNames() != getIdx(result).getNames())
      return emitOpError("result #")
             << i << " has indices [" << subscripts(result.getType())
             << "], but they must be those of "
             << (i < 3 ? "operand #" + std::to_string(i) : "the bias") << ", ["
             << subscripts(own[i].getType()) << "]";
  return success();
}
