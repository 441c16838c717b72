// Attention whose keys go around a ring of shards. Queries and keys are split
// into n shards, an index that both share like the batch. For n hops, a shard
// attends to the keys that it has, and hands them on:
//
//   s@cp: (s.shard@cp, s.in)    t@cp: (s.shard@cp, t.in)
//
// Let (o_i, l_i) be the result and the statistic of hop i. For all keys
// together the statistic is l = log(sum over i of exp(l_i)), and the result is
// the sum over i of exp(l_i - l) o_i. A gradient takes the result and the
// statistic of all keys, so the gradients of hops are added.
//
// Under a causal mask a shard exchanges half of its positions with the mirrored
// one. The early half of a shard has a number e below n of all 2n, and the late
// half the number 2n - 1 - e. Late queries see all early keys, and early
// queries no late keys. One of two shards has the later early half. Its early
// queries see the other's early keys. Otherwise its late queries see the
// other's late keys. So each hop but the first is two pairs of halves without a
// mask. Each shard selects the halves of the second pair.
#include "tpsp/Dialect/Tpsp/Attention/AttentionRing.h"

#include "Dialect/Tpsp/Operations/HiddenKeys.h"
#include "ShardParts.h"

#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace mlir;
using namespace tpsp;

namespace {

/// A call for the rows of one part and the keys of one part.
struct Pair {
  unsigned rows, keys;
  bool isCausal;
};

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Makes the calls of a ring. The operands with rows are taken apart once, and
/// those with keys go around.
template <typename Op> class Ring : protected ShardParts {
protected:
  /// The operation's tensors number `withRows` have the queries' index. The
  /// others have the keys'.
  Ring(OpBuilder &b, Op op, Shards shards, ArrayRef<unsigned> withRows)
      : ShardParts(b, op, shards), op(op) {
    for (Value operand : op.getInputs()) {
      size_t i = operands.size();
      // The segment numbers of queries come first.
      bool isOfRows = llvm::is_contained(withRows, i) || i == Op::numTensors;
      hasRows.push_back(isOfRows);
      StringRef index = isOfRows ? op.getQuery() : op.getKey();
      operands.push_back(as(operand, [&] { return partsOf(operand, index); }));
    }
  }

  /// The pairs of parts that have something to compute on every shard.
  SmallVector<Pair> pairsOf(int64_t hop) const {
    if (!isBalanced)
      return {{0, 0, false}};
    if (hop > 0)
      return {{Late, Early, false}};
    return {{Early, Early, true}, {Late, Early, false}, {Late, Late, true}};
  }

  void handKeysOn() {
    for (size_t i = 0; i < operands.size(); ++i)
      if (!hasRows[i])
        operands[i] =
            as(op->getOperand(i), [&] { return handedOn(operands[i], 1); });
  }

  SmallVector<Value> operandsOf(Pair pair) const {
    SmallVector<Value> all;
    for (auto [parts, isOfRows] : llvm::zip_equal(operands, hasRows))
      all.push_back(parts[isOfRows ? pair.rows : pair.keys]);
    return all;
  }

  /// The early queries and keys, or the late ones, as the shard has them to
  /// compute.
  SmallVector<Value> selectedOperands(int64_t hop) {
    SmallVector<Value> all;
    for (size_t i = 0; i < operands.size(); ++i)
      all.push_back(as(op->getOperand(i), [&] {
        return either(hop, operands[i][Early], operands[i][Late]);
      }));
    return all;
  }

  /// Calls `build`, whose operations are named after `value`.
  template <typename Build> auto as(Value value, Build build) {
    Location before = std::exchange(loc, value.getLoc());
    auto made = build();
    loc = before;
    return made;
  }

  Op call(TypeRange types, ValueRange inputs, bool isCausal) {
    typename Op::Properties properties = op.getProperties();
    PositionMask mask;
    mask.causal = isCausal;
    setOptions<Op>(b, mask, properties);
    auto made = Op::create(b, loc, types, inputs, properties);
    made->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    made.setQueryAttr(within(op.getQuery()));
    made.setKeyAttr(within(op.getKey()));
    return made;
  }

  /// The indices of the statistic for rows of `q`, a part of the queries.
  SmallVector<StringRef> rowOf(Value q) {
    return rowIndices(q, within(op.getQuery()), op.getFeature());
  }

  Op op;
  /// Parts of each operand, and whether they are parts of rows.
  SmallVector<Parts> operands;
  SmallVector<bool> hasRows;
};

/// The results of calls for the same rows, merged.
class ForwardRing : Ring<AttentionOp> {
public:
  ForwardRing(OpBuilder &b, AttentionOp op, Shards shards)
      : Ring(b, op, shards, /*withRows=*/{0}),
        wide(statisticType(op.getOperand(0))) {}

  void replace() {
    SmallVector<Seen> seen(isBalanced ? 2 : 1);
    for (int64_t hop = 0; hop < shards.count; ++hop) {
      if (hop > 0)
        handKeysOn();
      for (Pair pair : pairsOf(hop))
        seen[pair.rows].push_back(attend(operandsOf(pair), pair.isCausal));
      if (isBalanced && hop > 0)
        attendToSelected(hop, seen);
      for (Seen &ofPart : seen)
        ofPart = {merged(ofPart)};
    }
    Parts results, statistics;
    for (Seen &ofPart : seen) {
      results.push_back(
          converted(ofPart[0].result, typeOf(op.getResult()).getElementType()));
      // In the attention's own row, shards are next to the queries.
      Value statistic = ofPart[0].statistic;
      if (op.getStatistic())
        statistics.push_back(ordered(
            statistic,
            indexNames(partType(typeOf(op.getStatistic()), op.getQuery()))));
    }
    replaceBy(op.getResult(), results);
    if (op.getStatistic())
      replaceBy(op.getStatistic(), statistics);
    op.erase();
  }

private:
  struct Attended {
    Value result, statistic;
  };
  using Seen = SmallVector<Attended>;

  void replaceBy(Value result, const Parts &parts) {
    Value whole = wholeOf(parts, typeOf(result), op.getQuery());
    whole.getDefiningOp()->setLoc(result.getLoc());
    result.replaceAllUsesWith(whole);
  }

  Attended attend(ValueRange inputs, bool isCausal) {
    Value q = inputs[0];
    RankedTensorType result = partType(typeOf(op.getResult()), op.getQuery());
    RankedTensorType statistic =
        withElement(tensorOver(rowOf(q), {unplaced(q)}), wide);
    AttentionOp made = call(TypeRange{result, statistic}, inputs, isCausal);
    return {made.getResult(), made.getStatistic()};
  }

  /// A part of rows that the call was not for has seen no key in it.
  void attendToSelected(int64_t hop, SmallVector<Seen> &seen) {
    auto [result, statistic] = attend(selectedOperands(hop), false);
    for (Half half : {Early, Late})
      seen[half].push_back({result, orElse(hop, half, statistic, hiddenScore)});
  }

  /// A row that has seen no key has the statistic minus infinity.
  Attended merged(ArrayRef<Attended> all) {
    if (all.size() == 1)
      return {converted(all[0].result, wide), all[0].statistic};
    Value most = all[0].statistic;
    for (const Attended &each : all.drop_front())
      most = map<MaxOp>(most, {most, each.statistic});
    most = noLess(most, lowestNumber(wide));
    SmallVector<Value> shares, summands;
    for (const Attended &each : all)
      shares.push_back(exp(map<SubOp>(most, {each.statistic, most})));
    Value sum = map<AddOp>(most, shares);
    Value positive = noLess(sum, 1);
    for (auto [each, share] : llvm::zip_equal(all, shares)) {
      Value result = converted(each.result, wide);
      summands.push_back(
          mul(result, result, map<DivOp>(share, {share, positive})));
    }
    return {map<AddOp>(summands[0], summands),
            map<AddOp>(most, {most, map<LogOp>(sum, sum)})};
  }

  const Type wide;
};

/// The gradients of calls, added. Those of keys and values are handed back.
class GradientRing : Ring<AttentionGradientOp> {
public:
  GradientRing(OpBuilder &b, AttentionGradientOp op, Shards shards)
      : Ring(b, op, shards, /*withRows=*/{0, 3, 4, 5}),
        wide(statisticType(op.getOperand(0))) {
    constexpr unsigned q = 0, statistic = 4;
    for (auto [part, rows] : llvm::zip_equal(operands[statistic], operands[q]))
      part = ordered(part, rowOf(rows));
  }

  void replace() {
    Sums ofRows = empty();
    Sums home[2] = {empty(), empty()};
    for (int64_t hop = 0; hop < shards.count; ++hop) {
      if (hop > 0)
        handKeysOn();
      Sums ofKeys[2] = {empty(), empty()};
      for (Pair pair : pairsOf(hop)) {
        auto made = call(operandsOf(pair), pair.isCausal);
        ofRows[pair.rows].push_back(made.getGq());
        ofKeys[0][pair.keys].push_back(made.getGk());
        ofKeys[1][pair.keys].push_back(made.getGv());
      }
      if (isBalanced && hop > 0) {
        auto made = call(selectedOperands(hop), /*isCausal=*/false);
        addSelected(hop, made.getGq(), ofRows);
        addSelected(hop, made.getGk(), ofKeys[0]);
        addSelected(hop, made.getGv(), ofKeys[1]);
      }
      for (SmallVector<Value> &summands : ofRows)
        summands = {sum(summands, wide)};
      for (auto [gradients, own] : llvm::zip_equal(ofKeys, home))
        sendHome(hop, gradients, own);
    }
    replaceBy(op.getGq(), ofRows, op.getQuery());
    replaceBy(op.getGk(), home[0], op.getKey());
    replaceBy(op.getGv(), home[1], op.getKey());
    op.erase();
  }

private:
  /// The summands of each part's gradient.
  using Sums = SmallVector<SmallVector<Value>, 2>;
  Sums empty() const { return Sums(isBalanced ? 2 : 1); }

  AttentionGradientOp call(ValueRange inputs, bool isCausal) {
    RankedTensorType types[] = {unplaced(inputs[0]), unplaced(inputs[1]),
                                unplaced(inputs[2])};
    return Ring::call(TypeRange{types[0], types[1], types[2]}, inputs,
                      isCausal);
  }

  Value sum(ArrayRef<Value> summands, Type element) {
    if (summands.size() == 1)
      return converted(summands[0], element);
    return AddOp::create(b, loc, withElement(unplaced(summands[0]), element),
                         summands);
  }

  void addSelected(int64_t hop, Value gradient, Sums &sums) {
    for (Half half : {Early, Late})
      sums[half].push_back(onlyIf(hop, half, gradient));
  }

  /// Adds the gradients of the keys at hand to those of their own shard, where
  /// the first hop's come first.
  void sendHome(int64_t hop, Sums &gradients, Sums &own) {
    Type element = typeOf(op.getOperand(1)).getElementType();
    Parts parts;
    for (SmallVector<Value> &summands : gradients)
      parts.push_back(sum(summands, element));
    if (hop > 0)
      parts = handedOn(parts, -hop);
    for (auto [part, sums] : llvm::zip_equal(parts, own)) {
      sums.push_back(part);
      sums = {sum(sums, wide)};
    }
  }

  void replaceBy(Value result, const Sums &sums, StringRef index) {
    if (result.use_empty())
      return;
    Parts parts;
    for (const SmallVector<Value> &summands : sums)
      parts.push_back(converted(summands[0], typeOf(result).getElementType()));
    Value whole = wholeOf(parts, typeOf(result), index);
    whole.getDefiningOp()->setLoc(result.getLoc());
    result.replaceAllUsesWith(whole);
  }

  const Type wide;
};

} // namespace

StringRef tpsp::keyIndexOf(AttentionOpInterface op) {
  if (auto attention = dyn_cast<AttentionOp>(*op))
    return attention.getKey();
  return cast<AttentionGradientOp>(*op).getKey();
}

/// Whether the step's number is an operand.
static bool hasStep(AttentionOpInterface op) {
  Value last = op->getOperands().back();
  return getIdx(last).getRank() == 0 && last != op.getLengths() &&
         last != op.getSink();
}

std::string tpsp::unplacedRingObstacle(AttentionOpInterface op) {
  if (op.getRowTile() || !op.getShardIndex().empty())
    return "its keys are in shards already";
  if (op.getBias())
    return "it has a bias, with which its gradient does not read the statistic";
  if (op.getLengths())
    return "it has lengths of keys, which count from the first shard";
  if (hasStep(op))
    return "it takes the step's number";
  int64_t rows = extentOf(op->getOperand(0), op.getRowIndex());
  if (op.getScoreOptions().mostKeys(rows) < rows)
    return op.getScoreOptions().isSliding() ? "it has a window"
                                            : "it has chunks";
  return "";
}

std::string tpsp::ringObstacle(AttentionOpInterface op) {
  std::string obstacle = unplacedRingObstacle(op);
  if (!obstacle.empty())
    return obstacle;
  std::optional<Shards> shards = shardsOf(op, keyIndexOf(op));
  if (!shards)
    return "no axes divide its queries and its keys alike";
  if (op.masksLaterKeys() && shards->positions % 2 != 0)
    return "its mask leaves the last ranks most, and shards of " +
           std::to_string(shards->positions) + " positions have no halves";
  return "";
}

void tpsp::replaceByRing(OpBuilder &b, AttentionOpInterface op) {
  Shards shards = *shardsOf(op, keyIndexOf(op));
  if (auto gradient = dyn_cast<AttentionGradientOp>(*op))
    return GradientRing(b, gradient, shards).replace();
  ForwardRing(b, cast<AttentionOp>(*op), shards).replace();
}
