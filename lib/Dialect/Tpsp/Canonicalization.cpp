// Identities that hold for every placement and cost nothing. An operation that
// changes a value's placement is never an identity, because the program asks
// for it.
#include "tpsp/Dialect/Tpsp/Attention/AttentionOps.h"
#include "tpsp/Dialect/Tpsp/Integers/IntegerOps.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Dialect/Tpsp/Operations/DropoutOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace tpsp;

/// The operand of `op`, if the result is the same tensor with the same
/// placement; else null. Unplaced values of equal types may later differ in
/// placement. A returned value keeps the name that it has.
static Value unchanged(Operation *op) {
  Type type = op->getResult(0).getType();
  bool isSame = op->getNumOperands() == 1 &&
                op->getOperand(0).getType() == type && !isUnplaced(type) &&
                llvm::none_of(op->getUsers(), [](Operation *user) {
                  return user->hasTrait<OpTrait::IsTerminator>();
                });
  return isSame ? op->getOperand(0) : Value();
}

/// Whether both tensors have the same placement, whatever their indices are
/// called.
static bool liesAs(Value a, Value b) {
  IdxAttr one = getIdx(a), other = getIdx(b);
  return one.getAxes() == other.getAxes() &&
         one.getPending() == other.getPending() &&
         one.getPendingMax() == other.getPendingMax() &&
         one.getLocal() == other.getLocal() && !one.getUnplaced() &&
         !other.getUnplaced();
}

/// The operation `Op` that defines the operand of `op`, if it leaves its own
/// operand's placement unchanged; else null.
template <typename Op> static Op innerOf(Op op) {
  auto inner = op.getOperand(0).template getDefiningOp<Op>();
  return inner && liesAs(inner.getOperand(0), inner.getResult()) ? inner : Op();
}

OpFoldResult ReshardOp::fold(FoldAdaptor) { return unchanged(*this); }

OpFoldResult RenameOp::fold(FoldAdaptor) { return unchanged(*this); }

/// rename(rename(x)) = rename(x)
LogicalResult RenameOp::canonicalize(RenameOp op, PatternRewriter &rewriter) {
  RenameOp inner = innerOf(op);
  if (!inner)
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.setOperand(0, inner.getOperand(0)); });
  return success();
}

/// A sum of one operand is the operand.
OpFoldResult AddOp::fold(FoldAdaptor) { return unchanged(*this); }

/// A type that is set for the whole program may make a conversion one to its
/// operand's type.
OpFoldResult ConvertOp::fold(FoldAdaptor) { return unchanged(*this); }

/// A dropout that drops nothing is its operand.
OpFoldResult DropoutOp::fold(FoldAdaptor) {
  return draws() ? Value() : unchanged(*this);
}

OpFoldResult ScaleOp::fold(FoldAdaptor) {
  return getFactor().isExactlyValue(1.0) ? unchanged(*this) : Value();
}

/// scale(scale(x, a), b) = scale(x, a b), if a or b is -1. For other factors,
/// scaling twice rounds twice and may overflow in between, which a program may
/// intend.
LogicalResult ScaleOp::canonicalize(ScaleOp op, PatternRewriter &rewriter) {
  ScaleOp inner = innerOf(op);
  if (!inner || inner.getOperand(0).getType() != inner.getResult().getType())
    return failure();
  double first = inner.getFactor().convertToDouble(),
         second = op.getFactor().convertToDouble(), factor = first * second;
  if (std::abs(first) != 1 && std::abs(second) != 1)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    op.setOperand(0, inner.getOperand(0));
    op.setFactorAttr(rewriter.getF64FloatAttr(factor));
  });
  return success();
}

/// A slice that undoes a gather is the gather's operand. Before: the bytes of
/// the gather, if it has no other use; after: none.
OpFoldResult SliceOp::fold(FoldAdaptor) {
  auto gather = getInputs().getDefiningOp<AllGatherOp>();
  if (!gather)
    return {};
  unsigned number = cast<OpResult>(getInputs()).getResultNumber();
  Value shard = gather.getInputs()[number];
  return shard.getType() == getResult().getType() ? shard : Value();
}

/// Moves a conversion after the look-up: rows of a table are converted after
/// they are read. So the whole table need not be in memory in both precisions.
LogicalResult OneHotEinsumOp::canonicalize(OneHotEinsumOp op,
                                           PatternRewriter &rewriter) {
  Value table = op.numbers().front();
  auto convert = table.getDefiningOp<ConvertOp>();
  auto result = typeOf(op.getResult());
  if (!convert || op.numbers().size() > 1 || !op.targets().empty() ||
      !op.terms().empty() ||
      !liesAs(convert.getOperand(0), convert.getResult()) ||
      result.getNumElements() >= typeOf(table).getNumElements())
    return failure();
  Value source = convert.getOperand(0);
  SmallVector<Value> operands(op.getOperands());
  operands.back() = source;
  auto found = OneHotEinsumOp::create(
      rewriter, op.getLoc(), result.clone(typeOf(source).getElementType()),
      operands, op.getIndicesAttr());
  auto converted = ConvertOp::create(rewriter, op.getLoc(), result,
                                     ValueRange{found.getResult()});
  for (Operation *part : {found.getOperation(), converted.getOperation()})
    part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.replaceOp(op, converted);
  return success();
}

/// Drops a window that is at least as long as the rows. It hides nothing, but
/// libraries may not support it. False if there is no such window.
static bool dropWideWindow(AttentionOp op, PatternRewriter &rewriter) {
  if (!op.getScoreOptions().hidesEarlyKeys() || op.hidesEarlyKeys())
    return false;
  PositionMask mask;
  mask.causal = op.getCausal();
  rewriter.modifyOpInPlace(
      op, [&] { setOptions<AttentionOp>(rewriter, mask, op.getProperties()); });
  return true;
}

/// Drops a statistic that has no use.
LogicalResult AttentionOp::canonicalize(AttentionOp op,
                                        PatternRewriter &rewriter) {
  if (dropWideWindow(op, rewriter))
    return success();
  if (!op.getStatistic() || !op.getStatistic().use_empty())
    return failure();
  auto alone = AttentionOp::create(rewriter, op.getLoc(),
                                   TypeRange{op.getResult().getType()},
                                   op.getInputs(), op.getProperties());
  alone->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  alone->removeAttr(resultsAttrName);
  rewriter.replaceAllUsesWith(op.getResult(), alone.getResult());
  rewriter.eraseOp(op);
  return success();
}
