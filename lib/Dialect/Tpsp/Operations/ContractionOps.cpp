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

LogicalResult MeanOp::verify() { // (G1)
  if (failed(verifyCount(*this, 1, 2)))
    return failure();
  if (getNumOperands() == 1)
    return success();
  bool isSummed = false;
  for (StringRef name : indexNames(getOperand(1).getType())) {
    if (!getIdx(getOperand(0)).dimOf(name))
      return emitOpError("has labels of index '")
             << name << "', which operand #0 ["
             << subscripts(getOperand(0).getType())
             << "] lacks; labels have indices of that operand alone";
    isSummed |= !getIdx(getResult()).dimOf(name).has_value();
  }
  if (isSummed)
    return success();
  return emitOpError("has labels [")
         << subscripts(getOperand(1).getType()) << "], and the result ["
         << subscripts(getResult().getType())
         << "] keeps all of these indices; leave out an index, or mask with "
            "tpsp.label_mask";
}

//===----------------------------------------------------------------------===//
// Index structure
//===----------------------------------------------------------------------===//

Reduction ReduceOp::getReduction() {
  return getKind() == "max" ? Reduction::Max : Reduction::Sum;
}

Linearity ReduceOp::getLinearity() {
  return getKind() == "sum" ? Linearity::Joint : Linearity::None;
}

/// Sums without indices are losses, or parts of one.
bool ReduceOp::staysWide() { return typeOf(getResult()).getRank() == 0; }
bool MeanOp::staysWide() { return typeOf(getResult()).getRank() == 0; }

Linearity MeanOp::getLinearity() {
  return getNumOperands() == 1 ? Linearity::Joint : Linearity::Multi;
}

/// Tensor 1 is the labels if there are some, else the result.
unsigned MeanOp::getIntegerWidth(unsigned i) {
  return i == 1 && getNumOperands() == 2 ? 32 : 0;
}

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

/// The gradient of a maximum is divided evenly among the elements that are it.
static Value adjointOfMaximum(OpBuilder &b, ReduceOp op, Value g) {
  AdjointBuilder adjoint(b, op.getLoc());
  Value x = op.getOperand(0), largest = op.getResult();
  Value isLargest =
      adjoint.map<CompareOp>(x, {x, largest}, b.getStringAttr("equal"));
  Value count = adjoint.sumTo(isLargest, largest);
  return adjoint.mul(x, isLargest, adjoint.map<DivOp>(g, {g, count}));
}

LogicalResult ReduceOp::buildAdjoint(OpBuilder &b, Value g, Needed,
                                     Gradients gradients) {
  if (getKind() == "max") {
    gradients[0] = adjointOfMaximum(b, *this, g);
    return success();
  }
  // A sum over no index passes its gradient on, in whatever type that has.
  if (getIdx(getOperand(0)).getNames() == getIdx(getResult()).getNames()) {
    gradients[0] = g;
    return success();
  }
  AdjointBuilder adjoint(b, getLoc());
  gradients[0] = adjoint.map<BroadcastOp>(getOperand(0), g);
  return success();
}

//===----------------------------------------------------------------------===//
// Parts of composites
//===----------------------------------------------------------------------===//

/// The positions of `x` for each element of the mean, along the indices that
/// `labels` lack; along all of them if it is null.
static double positionsForEach(MeanOp mean, Value x, Value labels) {
  int64_t extent = 1;
  for (auto [name, size] :
       llvm::zip_equal(indexNames(x.getType()), typeOf(x).getShape()))
    if (!getIdx(mean.getResult()).dimOf(name) &&
        !(labels && getIdx(labels).dimOf(name)))
      extent *= size;
  return static_cast<double>(extent);
}

/// 1 / the number of elements that count, in `element`. It needs nothing but
/// the labels: no sum waits for it. A mean of no elements is divided by 1.
static Value shareOfEach(MeanOp mean, Type element, OpBuilder &b) {
  PartBuilder parts(b, mean.getLoc());
  Value labels = mean.getOperand(1);
  RankedTensorType type =
      withElement(withoutPlacement(typeOf(labels)), element);
  Value ones = ConstantOp::create(b, mean.getLoc(), type, ValueRange(),
                                  b.getF64FloatAttr(1));
  Value counted = parts.map<LabelMaskOp>(ones, {ones, labels});
  SmallVector<StringRef> summed;
  for (StringRef name : indexNames(type))
    if (!getIdx(mean.getResult()).dimOf(name))
      summed.push_back(name);
  Value least = parts.noLess(parts.sum(counted, summed), 1);
  Value one = ConstantOp::create(b, mean.getLoc(), typeOf(least), ValueRange(),
                                 b.getF64FloatAttr(1));
  Value share = parts.map<DivOp>(least, {one, least});
  return parts.scale(share,
                     1 / positionsForEach(mean, mean.getOperand(0), labels));
}

/// Whether an axis divides one index of `x` and another of `labels`.
static bool isDividedOtherwise(Value x, Value labels) {
  IdxAttr of = getIdx(x), other = getIdx(labels);
  for (auto [name, axes] : llvm::zip_equal(other.getNames(), other.getAxes()))
    for (auto [ownName, ownAxes] : llvm::zip_equal(of.getNames(), of.getAxes()))
      if (name != ownName && llvm::any_of(axes, [&](Attribute axis) {
            return llvm::is_contained(ownAxes, axis);
          }))
        return true;
  return false;
}

/// Elements are divided by their number before they are summed. So the sum
/// stays linear in what micro-batches and ranks have of it.
static Value decomposeCounted(MeanOp mean, OpBuilder &b) {
  Location loc = mean.getLoc();
  PartBuilder parts(b, loc);
  Type own = typeOf(mean.getResult()).getElementType();
  Type wide = own.getIntOrFloatBitWidth() < 32 ? Type(b.getF32Type()) : own;
  auto converted = [&](RankedTensorType type, Value x) -> Value {
    return own == wide ? x : ConvertOp::create(b, loc, type, ValueRange{x});
  };
  Value x = mean.getOperand(0), labels = mean.getOperand(1);
  // Propagation cannot choose between two indices, and the program has no
  // result here that a placement could be written to.
  RankedTensorType all =
      isDividedOtherwise(x, labels) ? typeOf(x) : withoutPlacement(typeOf(x));
  all = withElement(all, wide);
  x = converted(all, x);
  Value counted = LabelMaskOp::create(b, loc, all, ValueRange{x, labels});
  Value each =
      MulOp::create(b, loc, all, {counted, shareOfEach(mean, wide, b)});
  RankedTensorType result = typeOf(mean.getResult());
  RankedTensorType sum =
      own == wide ? result : withElement(withoutPlacement(result), wide);
  return converted(result, ReduceOp::create(b, loc, sum, ValueRange{each},
                                            b.getStringAttr("sum")));
}

Value MeanOp::decompose(OpBuilder &b) {
  if (getNumOperands() == 2)
    return decomposeCounted(*this, b);
  Value x = getOperand(0);
  Value sum =
      ReduceOp::create(b, getLoc(), withoutPlacement(getResult().getType()),
                       ValueRange{x}, b.getStringAttr("sum"));
  return ScaleOp::create(
      b, getLoc(), getResult().getType(), ValueRange{sum},
      b.getF64FloatAttr(1.0 / positionsForEach(*this, x, {})));
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
