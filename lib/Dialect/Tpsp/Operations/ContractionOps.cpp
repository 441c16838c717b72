// Products and sums over indices: einsum, reduce, mean.
#include "Dialect/Tpsp/IR/VerifierRules.h"
#include "PartBuilder.h"
#include "ScalarOf.h"

#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

//===----------------------------------------------------------------------===//
// Constraints
//===----------------------------------------------------------------------===//

LogicalResult EinsumOp::verify() { return verifyCount(*this, 1, 2); } // (E1)

LogicalResult ReduceOp::verify() { // (R1)
  if (failed(verifyCount(*this, 1, 1)))
    return failure();
  if (getKind() != "sum" && getKind() != "max")
    return emitOpError("kind is \"")
           << getKind() << "\"; it is \"sum\" or \"max\"";
  return success();
}

LogicalResult MeanOp::verify() { return verifyCount(*this, 1, 1); } // (G1)

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

Linearity EinsumOp::getLinearity() { return Linearity::Multi; }
bool EinsumOp::isSumOfProducts() { return true; }

Reduction ReduceOp::getReduction() {
  return getKind() == "max" ? Reduction::Max : Reduction::Sum;
}

Linearity ReduceOp::getLinearity() {
  return getKind() == "sum" ? Linearity::Joint : Linearity::None;
}

Linearity MeanOp::getLinearity() { return Linearity::Joint; }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult EinsumOp::buildAdjoint(OpBuilder &b, Value g, Needed needed,
                                     Gradients gradients) {
  AdjointBuilder adjoint(b, getLoc());
  for (auto [i, operand] : llvm::enumerate(getOperands())) {
    if (!needed[i])
      continue;
    SmallVector<Value> factors = {g};
    for (auto [j, other] : llvm::enumerate(getOperands()))
      if (j != i)
        factors.push_back(other);
    gradients[i] = adjoint.contract(factors, operand);
  }
  return success();
}

LogicalResult ReduceOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  if (getKind() != "sum")
    return emitOpError("of kind \"")
           << getKind()
           << "\" has no gradient; use a smooth maximum (tpsp.softmax), or "
              "keep "
              "it off the path from the differentiated arguments";
  AdjointBuilder adjoint(b, getLoc());
  gradients[0] = adjoint.map<BroadcastOp>(getOperand(0), g);
  return success();
}

//===----------------------------------------------------------------------===//
// Parts of composites
//===----------------------------------------------------------------------===//

Value MeanOp::decompose(OpBuilder &b) {
  Value x = getOperand(0);
  int64_t extent = 1;
  for (auto [name, size] :
       llvm::zip_equal(indexNames(x.getType()), typeOf(x).getShape()))
    if (!getIdx(getResult()).dimOf(name))
      extent *= size;
  Value sum =
      ReduceOp::create(b, getLoc(), withoutPlacement(getResult().getType()),
                       ValueRange{x}, b.getStringAttr("sum"));
  return ScaleOp::create(b, getLoc(), getResult().getType(), ValueRange{sum},
                         b.getF64FloatAttr(1.0 / static_cast<double>(extent)));
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value EinsumOp::emitScalar(OpBuilder &b, ValueRange operands, Position) {
  Value product = operands.front();
  for (Value factor : operands.drop_front())
    product = multiplyTerm(b, getLoc(), product, factor);
  return product;
}

ScalarFormula EinsumOp::getScalarFormula() { return {ScalarFormula::Product}; }
ScalarFormula ReduceOp::getScalarFormula() { return {ScalarFormula::Sum}; }

Value ReduceOp::emitScalar(OpBuilder &, ValueRange operands, Position) {
  return operands.front();
}

#define GET_OP_CLASSES
#include "tpsp/Dialect/Tpsp/Operations/ContractionOps.cpp.inc"
