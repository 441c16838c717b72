// scan, cumsum and delay, except their decomposition into shards; hand_on.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "PartBuilder.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

/// (K1)
static LogicalResult verifyAlong(Operation *op, StringRef index) {
  if (failed(verifySameNames(op)))
    return failure();
  return verifyHasIndex(op, 0, index, "index");
}

/// (K2)
static LogicalResult verifyDecay(ScanOp op) {
  if (failed(verifyHasIndex(op, 1, op.getIndex(), "index")))
    return failure();
  for (StringRef name : indexNames(op.getOperand(1).getType()))
    if (!getIdx(op.getOperand(0)).dimOf(name))
      return op.emitOpError("has a decay of indices [")
             << subscripts(op.getOperand(1).getType()) << "], of which '"
             << name << "' is none of operand #0, ["
             << subscripts(op.getOperand(0).getType())
             << "]; broadcast that one first (tpsp.broadcast)";
  return success();
}

LogicalResult ScanOp::verify() {
  if (failed(verifyCount(*this, 2, 2)) ||
      failed(verifyAlong(*this, getIndex())))
    return failure();
  return verifyDecay(*this);
}

LogicalResult CumsumOp::verify() { // (K3)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifyAlong(*this, getIndex());
}

LogicalResult DelayOp::verify() { // (K3)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifyAlong(*this, getIndex());
}

LogicalResult HandOnOp::verify() { // (K3), (K4)
  if (failed(verifyCount(*this, 1, 1)) ||
      failed(verifyAlong(*this, getIndex())))
    return failure();
  int64_t by = getBy(), length = extentOf(getResult(), getIndex());
  if (by != 0 && std::abs(by) < length)
    return success();
  // One rank's tensors have one position.
  if (by != 0 && getIdx(getResult()).getLocal())
    return success();
  return emitOpError("by = ") << by << " hands nothing on along '" << getIndex()
                              << "', which has extent " << length;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

unsigned HandOnOp::getIntegerWidth(unsigned) { return widthOfFirst(*this); }
HandOn HandOnOp::getHandOn() { return {getIndex(), int64_t(getBy())}; }

StringRef HandOnOp::getBlockIndex() { return getIndex(); }
SmallVector<BlockCopy> HandOnOp::getBlockCopies() {
  int64_t length = extentOf(getResult(), getIndex());
  SmallVector<BlockCopy> copies;
  for (int64_t to = 0; to < length; ++to) {
    int64_t from = (getMirrored() ? -to : to) - int64_t(getBy());
    copies.push_back({0, (from + 2 * length) % length, to});
  }
  return copies;
}

int64_t DelayOp::getPositions() {
  int64_t length = extentOf(getResult(), getIndex());
  return std::clamp(int64_t(getBy()), -length, length);
}

//===----------------------------------------------------------------------===//
// Adjoints
//===----------------------------------------------------------------------===//

LogicalResult ScanOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                   Gradients gradients) {
  // y[s] = a[s] y[s - 1] + x[s]:
  // dx[s] = g[s] + a[s + 1] dx[s + 1], da[s] = sum(dx[s] y[s - 1]).
  AdjointBuilder adjoint(b, getLoc());
  Value x = getOperand(0), a = getOperand(1);
  IntegerAttr before = b.getI64IntegerAttr(getReverse() ? -1 : 1),
              behind = b.getI64IntegerAttr(getReverse() ? 1 : -1);
  Value next = adjoint.map<DelayOp>(a, a, getIndexAttr(), behind);
  UnitAttr reverse = getReverse() ? UnitAttr() : b.getUnitAttr();
  Value dx = adjoint.map<ScanOp>(x, {g, next}, getIndexAttr(), reverse);
  gradients[0] = dx;
  if (needed[1]) {
    Value state = adjoint.map<DelayOp>(x, getResult(), getIndexAttr(), before);
    gradients[1] = adjoint.contract({dx, state}, a);
  }
  return success();
}

LogicalResult CumsumOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  UnitAttr reverse = getReverse() ? UnitAttr() : b.getUnitAttr();
  gradients[0] = adjoint.map<CumsumOp>(g, g, getIndexAttr(), reverse);
  return success();
}

LogicalResult DelayOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  gradients[0] = adjoint.map<DelayOp>(g, g, getIndexAttr(),
                                      b.getI64IntegerAttr(-getPositions()));
  return success();
}

LogicalResult HandOnOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  // A reflection is its own inverse.
  int64_t back = getMirrored() ? int64_t(getBy()) : -int64_t(getBy());
  gradients[0] = adjoint.map<HandOnOp>(
      g, g, getIndexAttr(), b.getI64IntegerAttr(back), getMirroredAttr());
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/SequenceOps.cpp.inc"
