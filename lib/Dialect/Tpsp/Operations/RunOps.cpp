// concat, cut and pad: runs of positions of an index.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// The index, under each tensor's name for it
//===----------------------------------------------------------------------===//

StringRef tpsp::ownName(Value part, Value whole, StringRef index) {
  SmallVector<StringRef> names = indexNames(part.getType()),
                         of = indexNames(whole.getType());
  std::optional<unsigned> dim = getIdx(whole).dimOf(index);
  if (!dim || names.size() != of.size())
    return "";
  StringRef own = names[*dim];
  names[*dim] = index;
  return names == of && own != index && !getIdx(whole).dimOf(own) ? own : "";
}

/// (B4), (B5), (B7): verifies that `part` has the indices of `whole` with
/// another in place of `index`.
static LogicalResult verifyRun(Operation *op, Value part, Value whole,
                               StringRef index, StringRef role,
                               StringRef roleOfWhole) {
  if (!getIdx(whole).dimOf(index))
    return op->emitOpError("index = \"")
           << index << "\" is not an index of " << roleOfWhole << ", ["
           << subscripts(whole.getType()) << "]";
  if (!ownName(part, whole, index).empty())
    return success();
  return op->emitOpError() << role << " has indices ["
                           << subscripts(part.getType())
                           << "], which must be those of " << roleOfWhole
                           << ", [" << subscripts(whole.getType())
                           << "], but for another name in place of '" << index
                           << "' (tpsp.rename)";
}

/// (B6), (B8): verifies that `count` positions from `first` lie within `index`.
static LogicalResult verifyPositions(Operation *op, StringRef attribute,
                                     int64_t first, int64_t count, Value whole,
                                     StringRef index) {
  int64_t extent = extentOf(whole, index);
  if (first >= 0 && first <= extent - count)
    return success();
  return op->emitOpError() << attribute << " = " << first << " and " << count
                           << " positions do not lie in '" << index
                           << "', which has extent " << extent;
}

LogicalResult ConcatOp::verify() { // (B4)
  if (getNumOperands() == 0)
    return emitOpError("takes 1 or more operands, not 0");
  int64_t sum = 0;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    std::string role = "operand #" + std::to_string(i);
    if (failed(verifyRun(*this, operand, getResult(), getIndex(), role,
                         "the result")))
      return failure();
    sum += extentOf(operand, ownName(operand, getResult(), getIndex()));
  }
  int64_t extent = extentOf(getResult(), getIndex());
  if (sum == extent)
    return success();
  return emitOpError("has operands of ")
         << sum << " positions, but '" << getIndex() << "' has extent "
         << extent;
}

LogicalResult CutOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyRun(*this, getResult(), getOperand(0), getIndex(),
                       "the result", "the operand"))) // (B5)
    return failure();
  StringRef own = ownName(getResult(), getOperand(0), getIndex());
  return verifyPositions(*this, "from", int64_t(getFrom()),
                         extentOf(getResult(), own), getOperand(0),
                         getIndex()); // (B6)
}

LogicalResult PadOp::verify() {
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyRun(*this, getOperand(0), getResult(), getIndex(),
                       "the operand", "the result"))) // (B7)
    return failure();
  StringRef own = ownName(getOperand(0), getResult(), getIndex());
  if (failed(verifyPositions(*this, "before", int64_t(getBefore()),
                             extentOf(getOperand(0), own), getResult(),
                             getIndex()))) // (B8)
    return failure();
  if (getValue().isZero() || !integerWidth(getOperand(0)))
    return success();
  return emitOpError("value = ")
         << getValue().convertToDouble() << " pads integers; only 0 does";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

SmallVector<StringRef> tpsp::namesOfIndex(Operation *op, StringRef index) {
  SmallVector<StringRef> names = {index};
  Value result = op->getResult(0);
  bool isOfResult = getIdx(result).dimOf(index).has_value();
  for (Value operand : op->getOperands()) {
    StringRef own = isOfResult ? ownName(operand, result, index)
                               : ownName(result, operand, index);
    if (!own.empty() && !llvm::is_contained(names, own))
      names.push_back(own);
  }
  return names;
}

Linearity PadOp::getLinearity() {
  return getValue().isZero() ? Linearity::Joint : Linearity::None;
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::buildAdjoint(OpBuilder &b, Value g,
                                     ArrayRef<bool> needed,
                                     MutableArrayRef<Value> gradients) {
  int64_t from = 0;
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (needed[i])
      gradients[i] = CutOp::create(b, getLoc(), PartBuilder::unplaced(operand),
                                   ValueRange{g}, getIndexAttr(),
                                   b.getI64IntegerAttr(from));
    from += extentOf(operand, ownName(operand, getResult(), getIndex()));
  }
  return success();
}

LogicalResult CutOp::buildAdjoint(OpBuilder &b, Value g, ArrayRef<bool>,
                                  MutableArrayRef<Value> gradients) {
  gradients[0] = PadOp::create(
      b, getLoc(), PartBuilder::unplaced(getOperand(0)), ValueRange{g},
      getIndexAttr(), getFromAttr(), b.getF64FloatAttr(0));
  return success();
}

LogicalResult PadOp::buildAdjoint(OpBuilder &b, Value g, ArrayRef<bool>,
                                  MutableArrayRef<Value> gradients) {
  gradients[0] =
      CutOp::create(b, getLoc(), PartBuilder::unplaced(getOperand(0)),
                    ValueRange{g}, getIndexAttr(), getBeforeAttr());
  return success();
}
