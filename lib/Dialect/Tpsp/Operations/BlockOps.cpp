// take and stack: positions of an index as tensors of their own.
#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

static LogicalResult verifyCarries(Operation *op, Value tensor, StringRef index,
                                   StringRef role) {
  if (getIdx(tensor).dimOf(index))
    return success();
  return op->emitOpError("index = \"")
         << index << "\" is not an index of " << role << ", ["
         << subscripts(tensor.getType()) << "]";
}

/// Verifies that `result` and `operand` have the same indices except `index`,
/// which `lacking` must not have.
static LogicalResult verifyRest(Operation *op, Value operand, Value result,
                                Value lacking, StringRef index) {
  if (!getIdx(lacking).dimOf(index) &&
      indexNamesBut(operand.getType(), index) ==
          indexNamesBut(result.getType(), index))
    return success();
  return op->emitOpError("has result indices [")
         << subscripts(result.getType()) << "] and operand indices ["
         << subscripts(operand.getType()) << "], which must differ by '"
         << index << "' alone";
}

LogicalResult TakeOp::verify() {
  if (getNumOperands() != 1) // (B1)
    return emitOpError("takes 1 operand, not ") << getNumOperands();
  Value x = getOperand(0);
  if (failed(verifyCarries(*this, x, getIndex(), "the operand")) ||
      failed(verifyRest(*this, x, getResult(), getResult(), getIndex())))
    return failure();
  int64_t extent = extentOf(x, getIndex());
  int64_t at = getAt();
  if (at >= 0 && at < extent) // (B2)
    return success();
  return emitOpError("at = ") << at << " is no position of '" << getIndex()
                              << "', which has extent " << extent;
}

LogicalResult StackOp::verify() { // (B3)
  if (getNumOperands() == 0)
    return emitOpError("takes 1 or more operands, not 0");
  if (failed(verifyCarries(*this, getResult(), getIndex(), "the result")))
    return failure();
  for (Value operand : getOperands())
    if (failed(verifyRest(*this, operand, getResult(), operand, getIndex())))
      return failure();
  int64_t extent = extentOf(getResult(), getIndex());
  if (extent == getNumOperands())
    return success();
  return emitOpError("has ") << getNumOperands() << " operands, but '"
                             << getIndex() << "' has extent " << extent;
}

//===----------------------------------------------------------------------===//
// Structure, copies, adjoints
//===----------------------------------------------------------------------===//

SmallVector<BlockCopy> TakeOp::getBlockCopies() {
  return {{0, int64_t(getAt()), 0}};
}
SmallVector<BlockCopy> StackOp::getBlockCopies() {
  SmallVector<BlockCopy> copies;
  for (unsigned i = 0; i < getNumOperands(); ++i)
    copies.push_back({i, 0, i});
  return copies;
}

/// The most blocks that an adjoint stacks. More are the padding of one.
static constexpr int64_t mostStacked = 8;

/// The gradient of one block of many: the block, and zeros around it.
static Value paddedBlock(OpBuilder &b, TakeOp op, Value g) {
  RankedTensorType type = PartBuilder::unplaced(op.getOperand(0));
  unsigned dim = *getIdx(type).dimOf(op.getIndex());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(getIdx(type).getNames());
  shape[dim] = 1;
  names[dim] = b.getStringAttr(op.getIndex() + ".one");
  IdxAttr idx = IdxAttr::get(b.getContext(), names).withoutPlacement();
  Value block = StackOp::create(
      b, op.getLoc(), RankedTensorType::get(shape, type.getElementType(), idx),
      ValueRange{g}, names[dim]);
  return PadOp::create(b, op.getLoc(), type, ValueRange{block},
                       op.getIndexAttr(), op.getAtAttr(), b.getF64FloatAttr(0));
}

LogicalResult TakeOp::buildAdjoint(OpBuilder &b, Value g, ArrayRef<bool>,
                                   MutableArrayRef<Value> gradients) {
  // The gradient at the position that was taken, zeros at the others.
  Value x = getOperand(0);
  int64_t extent = extentOf(x, getIndex());
  if (extent > mostStacked) {
    gradients[0] = paddedBlock(b, *this, g);
    return success();
  }
  SmallVector<Value> blocks(extent, g);
  if (extent > 1) {
    Value zero = ScaleOp::create(b, getLoc(), PartBuilder::unplaced(g),
                                 ValueRange{g}, b.getF64FloatAttr(0));
    blocks.assign(extent, zero);
    blocks[getAt()] = g;
  }
  gradients[0] = StackOp::create(b, getLoc(), PartBuilder::unplaced(x), blocks,
                                 getIndexAttr());
  return success();
}

LogicalResult StackOp::buildAdjoint(OpBuilder &b, Value g,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> gradients) {
  for (auto [i, operand] : llvm::enumerate(getOperands()))
    if (needed[i])
      gradients[i] =
          TakeOp::create(b, getLoc(), PartBuilder::unplaced(operand),
                         ValueRange{g}, getIndexAttr(), b.getI64IntegerAttr(i));
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.cpp.inc"
