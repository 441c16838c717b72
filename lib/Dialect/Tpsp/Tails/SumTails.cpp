// How sums, rows and attention carry the tail of a padded index.
#include "Dialect/Tpsp/Operations/HiddenKeys.h"
#include "TailRules.h"

#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/RowOps.h"

using namespace mlir;
using namespace tpsp;

/// Requires a zero tail of one operand that carries the index: of the smallest,
/// if none has it already.
static void wantZeroOfOne(const TailCase &c, unsigned operands) {
  std::optional<unsigned> smallest;
  for (unsigned i = 0; i < operands; ++i) {
    if (!c.carries(i))
      continue;
    if (c.operands[i].isZero())
      return;
    if (!smallest || typeOf(c.op->getOperand(i)).getNumElements() <
                         typeOf(c.op->getOperand(*smallest)).getNumElements())
      smallest = i;
  }
  if (smallest)
    c.operands[*smallest] = Tail::zero();
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

static StringRef carryEinsum(const TailCase &c) {
  // A transpose keeps the tail.
  if (c.operands.size() == 1 && typeOf(c.op->getOperand(0)).getRank() ==
                                    typeOf(c.op->getResult(0)).getRank()) {
    c.result = c.operands[0];
    return "";
  }
  c.raise();
  if (!c.isKept())
    wantZeroOfOne(c, c.operands.size());
  bool isZero =
      llvm::any_of(c.operands, [](const Tail &t) { return t.isZero(); });
  c.result = isZero ? Tail::zero() : Tail();
  return "";
}

static StringRef carryReduction(const TailCase &c) {
  bool isMax = cast<ReduceOp>(c.op).getReduction() == Reduction::Max;
  Tail &x = c.operands[0];
  if (!c.isKept())
    x = isMax ? Tail::low() : Tail::zero();
  else if (!isMax)
    return c.keepZero();
  c.result = x;
  return "";
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// If a row's elements may all be hidden, the tail is hidden, too. The lowest
/// number would be the largest of such a row.
static StringRef carrySoftmax(const TailCase &c) {
  auto op = cast<SoftmaxOp>(c.op);
  if (op.getOver() != c.index)
    return c.keepFinite();
  c.operands[0] = op.getHides() ? Tail::number(hiddenScore) : Tail::low();
  c.result = Tail::zero();
  return "";
}

/// Handles rows that lie in the tail. A tail along a row is refused: the mean
/// divides by the program's extent, which only the composite's parts know. Rows
/// of zeros need an epsilon.
template <typename Op> static StringRef carryNorm(const TailCase &c) {
  auto op = cast<Op>(c.op);
  if (llvm::is_contained(op.getWholeIndices(), c.index) || op.getEps().isZero())
    return "its rows are along the index, or have no epsilon";
  c.raise();
  bool isZero = std::is_same_v<Op, RmsNormOp> && c.operands[0].isZero();
  c.result = isZero ? Tail::zero() : Tail();
  return "";
}

/// A pair's elements are half of the features apart.
static StringRef carryRope(const TailCase &c) {
  if (cast<RopeOp>(c.op).getFeature() == c.index)
    return "its pairs are half of the features apart";
  return c.keepZero();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// A causal query sees no key after its own position, and no query sees a key
/// beyond the lengths.
static bool seesNoTail(AttentionOp op) {
  int64_t keys = extentOf(op.getOperand(1), op.getKey());
  if (op.getLengths() && areBelow(op.getLengths(), keys + 1))
    return true;
  return op.getCausal() && extentOf(op.getOperand(0), op.getQuery()) <= keys;
}

/// Whether the dropout of weights draws the same elements as without padding.
/// Positions after the end of the scores' outermost index do not change the
/// others' positions.
static bool drawsAlike(AttentionOp op, StringRef index) {
  if (!op.draws() || index == op.getFeature())
    return true;
  SmallVector<StringRef> rows =
      rowIndices(op.getOperand(0), op.getQuery(), op.getFeature());
  return rows.front() == index ||
         (!llvm::is_contained(rows, index) && index != op.getKey());
}

static StringRef carryAttention(const TailCase &c) {
  auto op = cast<AttentionOp>(c.op);
  if (op.getStatistic())
    return "its statistic would be of other rows";
  if (op.getScoreOptions().hidesEarlyKeys() && c.index == op.getQuery())
    return op.getWindow()
               ? "under a window there would be more queries than keys"
               : "with chunks there would be more queries than keys";
  if (!drawsAlike(op, c.index))
    return "which weights it drops follows from places among all scores, which "
           "only an outermost index does not move";
  if (c.index == op.getKey() && !seesNoTail(op))
    return "its queries would see keys behind the end";
  c.raise();
  if (c.index == op.getFeature())
    wantZeroOfOne(c, 2);
  constexpr unsigned values = 2;
  c.result = c.operands[values].isZero() ? Tail::zero() : Tail();
  return "";
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void tpsp::registerSumTails(MLIRContext &context) {
  attachTails<carryEinsum, EinsumOp>(context);
  attachTails<carryReduction, ReduceOp>(context);
  attachTails<carrySoftmax, SoftmaxOp>(context);
  attachTails<carryNorm<RmsNormOp>, RmsNormOp>(context);
  attachTails<carryNorm<LayerNormOp>, LayerNormOp>(context);
  attachTails<carryRope, RopeOp>(context);
  attachTails<carryAttention, AttentionOp>(context);
}
