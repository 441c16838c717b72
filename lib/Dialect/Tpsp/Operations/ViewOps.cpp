// Views, stop_gradient and reshard.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "PartBuilder.h"

#include "Dialect/Tpsp/IR/SplitParts.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult RenameOp::verify() { // (V1)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  if (typeOf(getOperand(0)).getShape() == getResult().getType().getShape())
    return success();
  return emitOpError("renames indices but changes the shape; use tpsp.split or "
                     "tpsp.merge");
}

/// (V2)
static LogicalResult verifySplit(Operation *op, RankedTensorType merged,
                                 RankedTensorType split) {
  unsigned dim = 0;
  for (auto [name, extent, count] :
       llvm::zip_equal(getIdx(merged).getNames(), merged.getShape(),
                       splitParts(merged, split))) {
    int64_t product = 1;
    for (int64_t part : split.getShape().slice(dim, count))
      product *= part;
    dim += count;
    if (count == 0 || product != extent)
      return op->emitOpError("the parts of index '")
             << name.getValue() << "' multiply to " << product << ", not to "
             << extent;
  }
  if (dim == split.getRank())
    return success();
  return op->emitOpError("index '") << getIdx(split).getNames()[dim].getValue()
                                    << "' is no part of any merged index";
}

LogicalResult SplitOp::verify() {
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifySplit(*this, typeOf(getOperand(0)), getResult().getType());
}

LogicalResult MergeOp::verify() {
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  return verifySplit(*this, getResult().getType(), typeOf(getOperand(0)));
}

LogicalResult PrefixOp::verify() { // (V4)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  auto from = typeOf(getOperand(0)), to = getResult().getType();
  if (!getIdx(from).getLocal() || !getIdx(to).getLocal())
    return emitOpError("is of one rank's tensors, and these are global");
  if (from.getNumElements() >= to.getNumElements())
    return success();
  return emitOpError("takes ")
         << to.getNumElements() << " elements of " << from.getNumElements();
}

LogicalResult ReshardOp::verify() { // (V3)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  return verifyExtents(*this);
}

LogicalResult StopGradientOp::verify() { // (V3)
  if (failed(verifyCount(*this, 1, 1)) || failed(verifySameNames(*this)))
    return failure();
  return verifyExtents(*this);
}

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

static RankedTensorType operandType(Operation *op) {
  return typeOf(op->getOperand(0));
}

IndexStructure RenameOp::getIndexStructure() {
  return structureByPosition(operandType(*this), getResult().getType());
}

IndexStructure SplitOp::getIndexStructure() {
  return structureOfSplit(operandType(*this), getResult().getType());
}

IndexStructure MergeOp::getIndexStructure() {
  IndexStructure structure =
      structureOfSplit(getResult().getType(), operandType(*this));
  std::swap(structure.operands, structure.results);
  return structure;
}

IndexStructure PrefixOp::getIndexStructure() {
  return structureByPosition(operandType(*this), getResult().getType());
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

template <typename Inverse>
static LogicalResult buildViewAdjoint(Operation *op, OpBuilder &b, Value g,
                                      Gradients gradients) {
  // The gradient of a parameter may be in another precision than the parameter.
  auto type = withElement(AdjointBuilder::unplaced(op->getOperand(0)),
                          typeOf(g).getElementType());
  gradients[0] = Inverse::create(b, op->getLoc(), type, g);
  return success();
}

LogicalResult RenameOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  return buildViewAdjoint<RenameOp>(*this, b, g, gradients);
}

LogicalResult SplitOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  return buildViewAdjoint<MergeOp>(*this, b, g, gradients);
}

LogicalResult MergeOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                    Gradients gradients) {
  return buildViewAdjoint<SplitOp>(*this, b, g, gradients);
}

LogicalResult ReshardOp::buildAdjoint(OpBuilder &, Value g, Needed,
                                      Gradients gradients) {
  gradients[0] = g; // the operand's own placement is restored on use
  return success();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.cpp.inc"
